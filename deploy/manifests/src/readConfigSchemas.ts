import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { z } from 'zod';

/** What each service reads of its environment, by the schema that it reads it with. */
export async function readConfigSchemas(): Promise<Map<ServiceName, z.ZodObject>> {
  const schemas = new Map<ServiceName, z.ZodObject>();
  for (const name of SERVICE_NAMES) {
    const file = join(repositoryRoot, 'services', name, 'src/config.ts');
    schemas.set(name, (await import(pathToFileURL(file).href)).configSchema);
  }
  return schemas;
}
