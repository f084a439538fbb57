import { fileURLToPath } from 'node:url';
import { loadConfig } from '@turnpike/config/loadConfig';
import { z } from 'zod';
import { applyMigrations } from './applyMigrations.ts';

/** Brings a service's own database up to date and says in one line what was done. Run before the service starts. */
export async function runMigrate(service: string, migrations: URL): Promise<void> {
  const { DATABASE_URL: databaseUrl } = loadConfig(service, z.object({ DATABASE_URL: z.url() }), process.env);
  const applied = await applyMigrations({ databaseUrl, migrationsDir: fileURLToPath(migrations) });
  console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(', ')}` : 'nothing to migrate'}`);
}
