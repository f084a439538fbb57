import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** A dead letter without its bytes. */
export interface DeadLetterEntry {
  id: bigint;
  topic: string;
  partition: number;
  offset: bigint;
  /** Why its bytes cannot be read, by the last attempt. */
  reason: string;
  bytes: number;
  recordedAt: Date;
  /** When it could be read after all. */
  replayedAt: Date | null;
  /** When the operator gave it up, and why. One with neither instant waits. */
  dismissedAt: Date | null;
  dismissalNote: string | null;
}

/** Most bytes of a letter that are shown. */
const SHOWN_BYTES = 64 * 1024;

/** Dead letters that wait, or all, in the order they came: at most `limit` of those after an id. */
export async function listDeadLetters(
  db: Db,
  { after, limit, withEnded }: { after: bigint; limit: number; withEnded: boolean },
): Promise<DeadLetterEntry[]> {
  return db.query(sql<DeadLetterEntry>`
    SELECT dead_letter_id AS "id", topic, partition, "offset", reason, octet_length(payload) AS "bytes",
      recorded_at AS "recordedAt", replayed_at AS "replayedAt", dismissed_at AS "dismissedAt", dismissal_note AS "dismissalNote"
    FROM dead_letter
    WHERE dead_letter_id > ${after} AND (${withEnded} OR replayed_at IS NULL AND dismissed_at IS NULL)
    ORDER BY dead_letter_id LIMIT ${limit}`);
}

/** One, with the first 64 KiB of the record as it stood in the log; undefined when there is none of that id. */
export async function findDeadLetter(
  db: Db,
  id: bigint,
): Promise<(DeadLetterEntry & { payload: Uint8Array }) | undefined> {
  const [letter] = await db.query(sql<DeadLetterEntry & { payload: Uint8Array }>`
    SELECT dead_letter_id AS "id", topic, partition, "offset", reason, octet_length(payload) AS "bytes",
      recorded_at AS "recordedAt", replayed_at AS "replayedAt", dismissed_at AS "dismissedAt", dismissal_note AS "dismissalNote",
      substring(payload FROM 1 FOR ${SHOWN_BYTES}::INT) AS "payload"
    FROM dead_letter WHERE dead_letter_id = ${id}`);
  return letter;
}

/** How many wait to be replayed. */
export const countDeadLetters = (db: Db): Promise<number> =>
  db.deadLetter.count({ where: { replayedAt: null, dismissedAt: null } });

/**
 * Gives up a dead letter that was not replayed, and returns whether there is one. Again, the note is the new one. It can still be
 * replayed, and routers go by it as before.
 */
export async function dismissDeadLetter(db: Db, { id, note }: { id: bigint; note: string }): Promise<boolean> {
  const changed = await db.execute(sql`
    UPDATE dead_letter SET dismissed_at = coalesce(dismissed_at, now()), dismissal_note = ${note}
    WHERE dead_letter_id = ${id} AND replayed_at IS NULL`);
  return changed === 1;
}
