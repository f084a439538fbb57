import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Queryable } from '@turnpike/postgres/database';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/**
 * Writes calls, adds what they cost to every total and posts it to the wallets, and returns how many rows are new or became
 * known. A call recorded before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one
 * event per call. `source` says in the postings where the events came from.
 *
 * The database's owner does it, in the function `record_ended_calls`: this service's role may not write to the books itself.
 */
export async function recordUsage(tx: Queryable, source: string, events: UsageRecorded[]): Promise<number> {
  const [result] = await tx.query(statements.recordUsage(source, events));
  return Number(result?.recorded ?? 0);
}

/**
 * Creates the partitions of the UTC months of some instants, unless they exist. `known` is an instant in a month that
 * has one.
 */
export async function ensureUsagePartitions(db: Db, instants: Date[], known?: Date): Promise<void> {
  const months = new Set(instants.map(firstDayOf));
  if (known) months.delete(firstDayOf(known));
  if (months.size === 0) return;
  await db.query(statements.ensureUsagePartitions([...months]));
}

const firstDayOf = (instant: Date): string =>
  `${instant.getUTCFullYear()}-${String(instant.getUTCMonth() + 1).padStart(2, '0')}-01`;

/** Returns the time of the database's clock, which all replicas use. */
export async function readTime(db: Queryable, statement = statements.readTime()): Promise<Date> {
  const [row] = await db.query(statement);
  if (!row) throw new Error('the database does not say what time it is');
  return row.now;
}

/** Returns the same time, once its month has a partition. */
export const readTimeOfRecording = (db: Queryable): Promise<Date> => readTime(db, statements.readTimeOfRecording());
