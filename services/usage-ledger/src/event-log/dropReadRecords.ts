import { EMBEDDED_PARTITION } from '@turnpike/event-log/consumeFromStore';
import type { Db } from '../database/createDb.ts';

/** As long as a broker's topic keeps them: longer than any backup of this database is old. */
const RETENTION_DAYS = 14;

/**
 * Removes records of the embedded event log that were read and are older than 14 days, so that it does not grow for ever.
 * A topic's last record stays, since the next offset is counted from it.
 */
export async function dropReadRecords(db: Db): Promise<number> {
  return db.$executeRaw`
    DELETE FROM event_log_record AS record
    USING event_offset AS position
    WHERE position.topic = record.topic AND position.partition = ${EMBEDDED_PARTITION}
      AND record."offset" < position.next_offset - 1
      AND record.appended_at < now() - make_interval(days => ${RETENTION_DAYS})`;
}
