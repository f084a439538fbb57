import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaPg } from '@prisma/adapter-pg';
import { backoffMs } from '@turnpike/lifecycle/repeat';
import type pg from 'pg';
import { createPgAdapter, createPool, type PoolOptions } from './createPool.ts';
import { isConflict } from './databaseFailure.ts';
import type { Sql } from './sql.ts';

/** Runs statements, each prepared once by a connection. */
export interface Queryable {
  /** Returns the rows. BIGINT is a bigint, NUMERIC a string, TIMESTAMPTZ a Date, JSON a value. */
  query<Row>(statement: Sql<Row>): Promise<Row[]>;
  /** Returns how many rows the statement changed. */
  execute(statement: Sql): Promise<number>;
}

const MAX_RETRIES = 5;
const BACKOFF = { firstMs: 20, longestMs: 320 };

/** A pool of connections to one database, each made when it is first needed. */
export class Database implements Queryable {
  readonly #pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.#pool = createPool(options);
  }

  query<Row>(statement: Sql<Row>): Promise<Row[]> {
    return queryOn(this.#pool, statement);
  }

  execute(statement: Sql): Promise<number> {
    return executeOn(this.#pool, statement);
  }

  /**
   * Runs `work` in one transaction on one connection. Commits when `work` resolves, rolls back when it rejects. Rejects too if Postgres
   * rolled back in place of the commit, because `work` caught the failure of a statement.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#transaction('BEGIN', work);
  }

  /** Does the same on one snapshot of the database, which all statements of `work` see. */
  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#transaction('BEGIN ISOLATION LEVEL REPEATABLE READ', work);
  }

  async #transaction<T>(begin: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    // The next statement fails then. Without a listener the event ends the process.
    const ignore = (): void => {};
    client.on('error', ignore);
    let isBroken = false;
    try {
      await client.query(begin);
      const result = await work({
        query: (statement) => queryOn(client, statement),
        execute: (statement) => executeOn(client, statement),
      });
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error('Postgres rolled the transaction back, because a statement had failed');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {
        isBroken = true;
      });
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(isBroken);
    }
  }

  /** Lets a Prisma client work on this pool, which closes when the client disconnects. */
  toPrismaAdapter(): PrismaPg {
    return createPgAdapter(this.#pool);
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

type Connection = Pick<pg.ClientBase, 'query'> | pg.Pool;

async function queryOn<Row>(connection: Connection, { name, text, values }: Sql<Row>): Promise<Row[]> {
  const { rows } = await connection.query({ name, text, values });
  return rows;
}

async function executeOn(connection: Connection, { name, text, values }: Sql): Promise<number> {
  const { rowCount } = await connection.query({ name, text, values });
  return rowCount ?? 0;
}

/**
 * Runs a transaction or a single statement, and again after a deadlock or serialisation failure, up to 5 times with jitter. `run` has no
 * effect but on the database, because it may run several times.
 */
export async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isConflict(error) || retries === MAX_RETRIES) throw error;
      await delay(backoffMs(retries, BACKOFF));
    }
  }
}

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
