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
  /** Null if the event is in the books now, else the reason why it cannot be read. */
  reason: string | null;
}

/**
 * Reads a dead letter with today's reader, or `repaired` instead of its bytes, and records it like the event log does.
 * A call counts once, whatever else was recorded of it. The letter is then marked as replayed, with its repair.
 * Otherwise it waits on, with the current reason of its own bytes. Returns undefined if no letter of that id waits. The
 * call stays pending in the gate until its row is reported.
 */
export async function replayDeadLetter(
  db: Db,
  { id, repaired, region }: { id: bigint; repaired: Buffer | undefined; region: ReadContext['region'] },
): Promise<ReplayOutcome | undefined> {
  // The letter is read before the transaction, because its event's month may need a partition. Its bytes do not change
  // meanwhile.
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

/**
 * Returns the letter's bytes, of a larger one only one more than the most of an event. Returns undefined unless it
 * waits.
 */
async function findWaiting(db: Db, id: bigint): Promise<Buffer | undefined> {
  const [letter] = await db.query(statements.readDeadLetter(id, LARGEST_EVENT_BYTES + 1));
  return letter && Buffer.from(letter.payload);
}

async function settle(
  tx: Queryable,
  { id, repaired, read }: { id: bigint; repaired: Buffer | undefined; read: Reading },
): Promise<ReplayOutcome | undefined> {
  const reason = 'reason' in read ? read.reason : null;
  // The reason concerns the repair, and the ledger does not keep an unreadable repair.
  if (reason !== null && repaired) return { id, reason };
  // This is the first statement, so that concurrent replays of a letter run in turn, and the second finds that it no
  // longer waits.
  const waited = await tx.execute(
    reason === null ? statements.markReplayed(id, repaired) : statements.keepReason(id, reason),
  );
  if (waited === 0) return undefined;
  if ('event' in read) await recordUsage(tx, `dead letter ${id}`, [read.event]);
  return { id, reason };
}
