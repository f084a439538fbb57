import type { ReaderLeases } from '@turnpike/event-log/eventLog';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** Age at which a lease has lapsed. It is renewed about once a second. */
const LEASE_SECONDS = 3;

/** The leases that ledgers share the partitions of a topic by. */
export const createReaderLeases = (db: Db, topic: string): ReaderLeases => ({
  async renew(readerId) {
    const [row] = await db.query(sql<{ readers: string[]; positions: Record<string, string> }>`
      WITH renewed AS (
        INSERT INTO event_reader (topic, reader_id, lapses_at)
        VALUES (${topic}, ${readerId}::UUID, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))
        ON CONFLICT (topic, reader_id) DO UPDATE SET lapses_at = excluded.lapses_at
        RETURNING reader_id
      )
      SELECT
        (SELECT array_agg(reader_id::TEXT ORDER BY reader_id) FROM (
          SELECT reader_id FROM renewed
          UNION SELECT reader_id FROM event_reader WHERE topic = ${topic} AND lapses_at > clock_timestamp()
        ) AS reader) AS "readers",
        (SELECT coalesce(jsonb_object_agg(partition, next_offset::TEXT), '{}')
         FROM event_offset WHERE topic = ${topic}) AS "positions"`);
    const { readers, positions } = row ?? { readers: [readerId], positions: {} };
    return {
      readers,
      positions: new Map(Object.entries(positions).map(([partition, offset]) => [Number(partition), BigInt(offset)])),
    };
  },
  async giveBack(readerId) {
    await db.execute(sql`DELETE FROM event_reader WHERE topic = ${topic} AND reader_id = ${readerId}::UUID`);
  },
});
