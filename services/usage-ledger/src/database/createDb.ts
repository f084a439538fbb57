import type { PoolOptions } from '@turnpike/postgres/createPool';
import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { PrismaClient } from '../generated/client.ts';

/**
 * A pool of connections to the ledger's database, each made when it is first needed. Prisma's client owns the pool. Its models read and
 * write single rows. Statements, the recording of completion events among them, run on the client's pool and leave out Prisma's layers,
 * which take more processor time than the driver.
 */
export type Db = PrismaClient & Statements;

export const createDb = (options: Omit<PoolOptions, 'service'>): Db =>
  openPrisma({ service: 'usage-ledger', ...options }, (adapter) => new PrismaClient({ adapter }));
