import { join } from 'node:path';
import type { DatabaseService } from '@turnpike/config/services';
import type { Parts } from '../process/startParts.ts';

/** The variables of a service's migration: the database as its owner, and the role to give rights to, if that is another. */
export interface MigrationEnvironment extends Record<string, string> {
  DATABASE_URL: string;
}

/**
 * Migrates a service's database to the code of a folder. Throws a `StackError` with the migration's output if it fails.
 */
export async function migrateDatabase(
  parts: Parts,
  service: DatabaseService,
  { env, root }: { env: MigrationEnvironment; root: string },
): Promise<void> {
  await parts.run(`The migration of ${service}'s database`, {
    command: process.execPath,
    args: [join(root, 'services', service, 'src/migrate.ts')],
    env,
  });
}
