import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { LARGEST_EVENT_BYTES } from '@turnpike/internal-api/usageLedger';
import { type Queryable, retryConflicts } from '@turnpike/postgres/database';
import { isRefused, sqlStateOf } from '@turnpike/postgres/databaseFailure';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';
import { callInstantMs, type ReadContext, readUsageEvent, UnreadableRecord } from '../ledger/readUsageEvent.ts';
import { ensureUsagePartitions, readTime, recordUsage } from '../ledger/recordUsage.ts';

/** The outcome of replaying one dead letter. */
export interface ReplayOutcome {
  id: bigint;
  /** Null when it is in the books now; else why it still cannot be read. */
  reason: string | null;
}

/**
 * Reads a dead letter again with the reader of today, or reads `repaired` in place of its bytes, and records it as the event
 * log would have: once, whatever else was recorded of that call. It is replayed then, with what it was repaired with beside
 * it; otherwise it keeps waiting, with the reason that its own bytes have now. Undefined when none of that id waits. The gate counts
 * the call as pending until it hears of the row.
 */
export async function replayDeadLetter(
  db: Db,
  { id, repaired, region }: { id: bigint; repaired: Buffer | undefined; region: ReadContext['region'] },
): Promise<ReplayOutcome | undefined> {
  // Made outside of the transaction, since its events keep their month until then.
  const known = await findWaiting(db, id);
  if (!known) return undefined;
  const read = tryToRead(repaired ?? known, { region, now: await readTime(db) });
  if ('event' in read) await ensureUsagePartitions(db, [new Date(callInstantMs(read.event.callId))]);
  const settleWhole = (reading: Reading) =>
    retryConflicts(() => db.transaction((tx) => settle(tx, { id, repaired, read: reading })));
  try {
    return await settleWhole(read);
  } catch (error) {
    if (!isRefused(error)) throw error;
    const reason = `refused by Postgres: ${sqlStateOf(error)}`;
    return settleWhole({ reason });
  }
}

type Reading = { event: UsageRecorded } | { reason: string };

function tryToRead(value: Buffer, context: ReadContext): Reading {
  try {
    return { event: readUsageEvent(value, context) };
  } catch (error) {
    if (error instanceof UnreadableRecord) return { reason: error.message };
    throw error;
  }
}

/** The letter's bytes, one more than an event has at most of one that is larger; undefined unless it waits. */
async function findWaiting(db: Db, id: bigint): Promise<Buffer | undefined> {
  const [letter] = await db.query(statements.readDeadLetter(id, LARGEST_EVENT_BYTES + 1));
  return letter && Buffer.from(letter.payload);
}

async function settle(
  tx: Queryable,
  { id, repaired, read }: { id: bigint; repaired: Buffer | undefined; read: Reading },
): Promise<ReplayOutcome | undefined> {
  const reason = 'reason' in read ? read.reason : null;
  // The reason belongs to the repair, and the ledger keeps no repair that it cannot read.
  if (reason !== null && repaired) return { id, reason };
  // First, so that two who replay the same letter take turns, and the second finds that it does not wait any more.
  const waited = await tx.execute(
    reason === null ? statements.markReplayed(id, repaired) : statements.keepReason(id, reason),
  );
  if (waited === 0) return undefined;
  if ('event' in read) await recordUsage(tx, `dead letter ${id}`, [read.event]);
  return { id, reason };
}
