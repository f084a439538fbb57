import { createPgAdapter, type PgAdapterOptions } from '@turnpike/postgres/createPgAdapter';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient;

/** A pool of connections to the database of jobs, each made when it is first needed. */
export function createDb(options: Omit<PgAdapterOptions, 'service'>): Db {
  return new PrismaClient({ adapter: createPgAdapter({ service: 'media-jobs', ...options }) });
}
