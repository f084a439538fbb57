import type { PoolOptions } from '@turnpike/postgres/createPool';
import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { PrismaClient } from '../generated/client.ts';

/**
 * A pool of connections to the ledger's database, owned by Prisma's client. Each connection is opened at its first use.
 * Prisma's models read and write single rows. Statements, such as recording, run on the pool without Prisma's layers,
 * which take more CPU time than the driver.
 */
export type Db = PrismaClient & Statements;

export const createDb = (options: Omit<PoolOptions, 'service'>): Db =>
  openPrisma({ service: 'usage-ledger', ...options }, (adapter) => new PrismaClient({ adapter }));
