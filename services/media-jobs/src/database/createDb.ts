import { createPgAdapter, createPool, type PoolOptions } from '@turnpike/postgres/createPool';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient;

/** A pool of connections to the database of jobs, each made when it is first needed. */
export function createDb(options: Omit<PoolOptions, 'service'>): Db {
  return new PrismaClient({ adapter: createPgAdapter(createPool({ service: 'media-jobs', ...options })) });
}
