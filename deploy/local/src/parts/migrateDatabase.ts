import { join } from 'node:path';
import type { DatabaseService } from '@turnpike/config/services';
import type { Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';

/** What a service's migration reads: the database as its owner, and the role to give rights to, if that is another. */
export interface MigrationEnvironment extends Record<string, string> {
  DATABASE_URL: string;
}

/** Brings a service's database up to date. Throws a `StackError` with what the migration said when it fails. */
export async function migrateDatabase(
  parts: Parts,
  service: DatabaseService,
  env: MigrationEnvironment,
): Promise<void> {
  await parts.run(`The migration of ${service}'s database`, {
    command: process.execPath,
    args: [join(repositoryRoot, 'services', service, 'src/migrate.ts')],
    env,
  });
}
