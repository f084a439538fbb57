import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';

/** The migrations of a folder in the order they apply, as the schema engine takes them. */
export async function readMigrations(migrationsDir: string): Promise<MigrationList> {
  const entries = await readdir(migrationsDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const migrationDirectories = await Promise.all(
    names.sort().map(async (name) => {
      const value = await readFile(join(migrationsDir, name, 'migration.sql'), 'utf8');
      return { path: name, migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value } } };
    }),
  );
  return {
    baseDir: migrationsDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories,
  };
}
