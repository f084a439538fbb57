import { createPgAdapter, createPool, type PoolOptions } from '@turnpike/postgres/createPool';
import { PrismaClient } from '../generated/client.ts';
import type { Statement } from './statements.ts';

export interface Db extends PrismaClient {
  /**
   * Runs a statement by itself and gives its rows. Each connection prepares it once, so that Postgres neither parses nor plans it again,
   * and it goes past Prisma, whose layers take longer than the driver: for what runs with every batch and every report.
   */
  run<Row>(statement: Statement): Promise<Row[]>;
}

/** A pool of connections to the ledger's database, each made when it is first needed. */
export function createDb(options: Omit<PoolOptions, 'service'>): Db {
  const pool = createPool({ service: 'usage-ledger', ...options });
  const prisma = new PrismaClient({ adapter: createPgAdapter(pool) });
  return Object.assign(prisma, {
    async run<Row>({ name, text, values }: Statement): Promise<Row[]> {
      const { rows } = await pool.query({ name, text, values });
      return rows;
    },
  });
}
