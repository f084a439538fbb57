import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Queryable } from '@turnpike/postgres/database';
import { statements } from '../database/statements.ts';

/**
 * Writes calls, adds what they cost to every total and posts it to the wallets, and returns how many rows are new or became
 * known. A call recorded before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one
 * event per call. `source` says in the postings where the events came from.
 *
 * The database's owner does it, in the function `record_calls`: this service's role may not write to the books itself.
 */
export async function recordUsage(tx: Queryable, source: string, events: UsageRecorded[]): Promise<number> {
  const [result] = await tx.query(statements.recordUsage(source, events));
  return Number(result?.recorded ?? 0);
}
