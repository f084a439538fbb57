import { EMBEDDED_PARTITION } from '@turnpike/event-log/consumeFromStore';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** The retention of records, that of a broker's topic: longer than any backup of this database is old. */
const RETENTION_DAYS = 14;
/** Removed in a statement: many more could take longer than a statement may, and would then never be removed. */
const RECORDS_PER_STATEMENT = 10_000;

/**
 * Removes records of the embedded event log that were read and are older than 14 days, so that it does not grow for ever.
 * A topic's last record stays, since the next offset is counted from it. Resolves with how many are gone; once `signal`
 * fires, no further statement begins.
 */
export async function dropReadRecords(db: Db, signal?: AbortSignal): Promise<number> {
  let dropped = 0;
  for (;;) {
    const droppedNow = await db.execute(sql`
      DELETE FROM event_log_record WHERE (topic, "offset") IN (
        SELECT record.topic, record."offset"
        FROM event_log_record AS record
        JOIN event_offset AS position
          ON position.topic = record.topic AND position.partition = ${EMBEDDED_PARTITION}
        WHERE record."offset" < position.next_offset - 1
          AND record.appended_at < now() - make_interval(days => ${RETENTION_DAYS})
        LIMIT ${RECORDS_PER_STATEMENT})`);
    dropped += droppedNow;
    if (droppedNow < RECORDS_PER_STATEMENT || signal?.aborted) return dropped;
  }
}
