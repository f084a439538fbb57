import type { PrismaPg } from '@prisma/adapter-pg';
import type { PoolOptions } from './createPool.ts';
import { Database } from './database.ts';

/** Statements of the tag `sql`, run on the pool of a Prisma client. */
export type Statements = Pick<Database, 'query' | 'execute' | 'transaction' | 'snapshot'>;

/** Opens a pool with a Prisma client on it, and adds `Statements` to the client. Disconnecting the client closes the pool. */
export function openPrisma<Client extends object>(
  options: PoolOptions,
  toClient: (adapter: PrismaPg) => Client,
): Client & Statements {
  const database = new Database(options);
  return Object.assign(toClient(database.toPrismaAdapter()), {
    query: database.query.bind(database),
    execute: database.execute.bind(database),
    transaction: database.transaction.bind(database),
    snapshot: database.snapshot.bind(database),
  });
}
