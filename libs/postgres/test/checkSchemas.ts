import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '@turnpike/test-support/startPostgres';
import { migrate } from '../src/migrate.ts';
import { compareSchema } from './compareSchema.ts';
import { findRacyInserts, listUniqueIndexes } from './findRacyInserts.ts';
import { findStrongLocks, listReferencedTables } from './findStrongLocks.ts';

const SERVICES = new URL('../../../services/', import.meta.url);

/**
 * Step of `npm run check`. Fails if a service's `schema.prisma` differs from the database that the service's SQL makes. Also fails for a
 * racy `INSERT`, and for a lock that is stronger than it has to be.
 */
async function main(): Promise<boolean> {
  const postgres = await startPostgres();
  try {
    const services = readdirSync(SERVICES).filter((name) => existsSync(new URL(`${name}/sql/`, SERVICES)));
    let isOk = true;
    const fail = (message: string): void => {
      isOk = false;
      console.error(message);
    };
    for (const name of services) {
      const folder = new URL(`${name}/`, SERVICES);
      const databaseUrl = await postgres.createDatabase();
      await migrate({ databaseUrl, folder: new URL('sql/', folder) });
      const schema = new URL('prisma/schema.prisma', folder);
      const difference = existsSync(schema) && (await compareSchema(databaseUrl, readFileSync(schema, 'utf8')));
      if (difference) fail(`services/${name}: from sql/ to prisma/schema.prisma:\n${difference}`);
      const indexes = await listUniqueIndexes(databaseUrl);
      const referenced = await listReferencedTables(databaseUrl);
      for (const path of globSync('{src/**/*.ts,sql/functions/*.sql}', { cwd: fileURLToPath(folder) })) {
        const source = readFileSync(new URL(path, folder), 'utf8');
        for (const found of [...findRacyInserts(indexes, source), ...findStrongLocks(referenced, source)])
          fail(`services/${name}/${path}: ${found}`);
      }
    }
    return isOk;
  } finally {
    await postgres.stop();
  }
}

main().then((isOk) => process.exit(isOk ? 0 : 1));
