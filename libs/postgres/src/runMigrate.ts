import { existsSync } from 'node:fs';
import { loadConfig } from '@turnpike/config/loadConfig';
import { databaseUrlSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';
import { migrate } from './migrate.ts';
import { untilDatabaseAnswers } from './untilDatabaseAnswers.ts';

/**
 * Brings a service's own database up to date, once it answers, and says in one line what was done. Run before the service starts, by the
 * owner of the database. Where the folder has a `rights.sql`, the service works with another role, which `SERVICE_ROLE` names.
 */
export async function runMigrate(service: string, folder: URL): Promise<void> {
  const hasRights = existsSync(new URL('rights.sql', folder));
  const schema = z.object({
    DATABASE_URL: databaseUrlSchema,
    SERVICE_ROLE: hasRights ? z.string().min(1) : z.undefined().catch(undefined),
  });
  const { DATABASE_URL: databaseUrl, SERVICE_ROLE: serviceRole } = loadConfig(service, schema, process.env);
  // The first process of a container hears of no signal that it does not listen to. What is not committed is undone.
  process.once('SIGTERM', () => process.exit(1));
  await untilDatabaseAnswers({ service, databaseUrl, say: console.error });
  const applied = await migrate({ databaseUrl, folder, serviceRole });
  console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(', ')}` : 'nothing to migrate'}`);
}
