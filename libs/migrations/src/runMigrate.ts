import { fileURLToPath } from 'node:url';
import { loadConfig } from '@turnpike/config/loadConfig';
import { databaseUrlSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';
import { applyMigrations } from './applyMigrations.ts';
import { grantRights } from './grantRights.ts';

const ownerSchema = z.object({ DATABASE_URL: databaseUrlSchema });
const restrictedSchema = ownerSchema.extend({ SERVICE_ROLE: z.string().min(1) });

/** Brings a service's own database up to date and says in one line what was done. Run before the service starts. */
export async function runMigrate(service: string, migrations: URL): Promise<void> {
  const { DATABASE_URL: databaseUrl } = loadConfig(service, ownerSchema, process.env);
  report(service, await applyMigrations({ databaseUrl, migrationsDir: fileURLToPath(migrations) }));
}

/**
 * As `runMigrate`, by the owner of a database whose service works with another role, `SERVICE_ROLE`: that role then has the
 * rights of the script and no others.
 */
export async function runMigrateWithRights(service: string, migrations: URL, rights: URL): Promise<void> {
  const { DATABASE_URL: databaseUrl, SERVICE_ROLE: serviceRole } = loadConfig(service, restrictedSchema, process.env);
  const applied = await applyMigrations({ databaseUrl, migrationsDir: fileURLToPath(migrations) });
  await grantRights({ databaseUrl, rightsFile: fileURLToPath(rights), serviceRole });
  report(service, applied);
}

const report = (service: string, applied: string[]): void =>
  console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(', ')}` : 'nothing to migrate'}`);
