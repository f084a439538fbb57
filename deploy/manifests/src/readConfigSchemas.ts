import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { z } from 'zod';

/** Reads the schema of each service's environment from its `config.ts`. */
export async function readConfigSchemas(): Promise<Map<ServiceName, z.ZodObject>> {
  const schemas = new Map<ServiceName, z.ZodObject>();
  for (const name of SERVICE_NAMES) {
    const file = join(repositoryRoot, 'services', name, 'src/config.ts');
    schemas.set(name, (await import(pathToFileURL(file).href)).configSchema);
  }
  return schemas;
}
