import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { startPostgres } from '@turnpike/test-support/startPostgres';
import { migrate } from '../src/migrate.ts';
import { compareSchema } from './compareSchema.ts';

const SERVICES = new URL('../../../services/', import.meta.url);

/** Step of `npm run check`: fails if a service's `schema.prisma` differs from the database that the service's SQL makes. */
async function main(): Promise<boolean> {
  const postgres = await startPostgres();
  try {
    const services = readdirSync(SERVICES).filter((name) =>
      existsSync(new URL(`${name}/prisma/schema.prisma`, SERVICES)),
    );
    let isOk = true;
    for (const name of services) {
      const folder = new URL(`${name}/`, SERVICES);
      const databaseUrl = await postgres.createDatabase();
      await migrate({ databaseUrl, folder: new URL('sql/', folder) });
      const difference = await compareSchema(
        databaseUrl,
        readFileSync(new URL('prisma/schema.prisma', folder), 'utf8'),
      );
      if (difference === undefined) continue;
      isOk = false;
      console.error(`services/${name}: from sql/ to prisma/schema.prisma:\n${difference}`);
    }
    return isOk;
  } finally {
    await postgres.stop();
  }
}

main().then((isOk) => process.exit(isOk ? 0 : 1));
