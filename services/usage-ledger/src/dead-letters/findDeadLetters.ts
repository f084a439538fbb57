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
  /** When it could be read after all; null for one that waits. */
  replayedAt: Date | null;
}

/** Most bytes of a letter that are shown. */
const SHOWN_BYTES = 64 * 1024;

/** Dead letters that wait to be replayed, or all, in the order they came: at most `limit` of those after an id. */
export async function listDeadLetters(
  db: Db,
  { after, limit, withReplayed }: { after: bigint; limit: number; withReplayed: boolean },
): Promise<DeadLetterEntry[]> {
  return db.query(sql<DeadLetterEntry>`
    SELECT dead_letter_id AS "id", topic, partition, "offset", reason, octet_length(payload) AS "bytes",
      recorded_at AS "recordedAt", replayed_at AS "replayedAt"
    FROM dead_letter
    WHERE dead_letter_id > ${after} AND (${withReplayed} OR replayed_at IS NULL)
    ORDER BY dead_letter_id LIMIT ${limit}`);
}

/** One, with the first 64 KiB of the record as it stood in the log; undefined when there is none of that id. */
export async function findDeadLetter(
  db: Db,
  id: bigint,
): Promise<(DeadLetterEntry & { payload: Uint8Array }) | undefined> {
  const [letter] = await db.query(sql<DeadLetterEntry & { payload: Uint8Array }>`
    SELECT dead_letter_id AS "id", topic, partition, "offset", reason, octet_length(payload) AS "bytes",
      recorded_at AS "recordedAt", replayed_at AS "replayedAt", substring(payload FROM 1 FOR ${SHOWN_BYTES}::INT) AS "payload"
    FROM dead_letter WHERE dead_letter_id = ${id}`);
  return letter;
}

/** How many wait to be replayed. */
export const countDeadLetters = (db: Db): Promise<number> => db.deadLetter.count({ where: { replayedAt: null } });
