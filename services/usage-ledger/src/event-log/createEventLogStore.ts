import { EventEmitter } from 'node:events';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import type { Db } from '../database/createDb.ts';
import { inTransaction } from '../database/inTransaction.ts';

/** The embedded event log in this service's own database. */
export function createEventLogStore(db: Db): EventLogStore {
  const appends = new EventEmitter();
  return {
    appends,
    async append(topic, records) {
      const keys = records.map(({ key }) => key);
      // As base64, since a value may hold what a text in Postgres may not.
      const values = records.map(({ value }) => Buffer.from(value).toString('base64'));
      await inTransaction(db, async (tx) => {
        // One append at a time, so that a reader never sees an offset before a lower one.
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('event_log_record'), hashtext(${topic}))`;
        await tx.$executeRaw`
          INSERT INTO event_log_record (topic, "offset", key, value)
          SELECT ${topic}, log.end_offset + record.nth - 1, record.key, decode(record.value, 'base64')
          FROM unnest(${keys}::TEXT[], ${values}::TEXT[]) WITH ORDINALITY AS record (key, value, nth),
            (SELECT coalesce(max("offset") + 1, 0) AS end_offset FROM event_log_record WHERE topic = ${topic}) AS log`;
      });
      appends.emit(topic);
    },
    async read(topic, { fromOffset, limit }) {
      const rows = await db.eventLogRecord.findMany({
        where: { topic, offset: { gte: fromOffset } },
        orderBy: { offset: 'asc' },
        take: limit,
      });
      return rows.map(({ offset, key, value }) => ({ offset, key, value: Buffer.from(value) }));
    },
    async endOffset(topic) {
      const { _max: last } = await db.eventLogRecord.aggregate({ where: { topic }, _max: { offset: true } });
      return last.offset === null ? 0n : last.offset + 1n;
    },
  };
}
