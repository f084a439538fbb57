import { EventEmitter } from 'node:events';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import type { Db } from '../database/createDb.ts';
import { inTransaction } from '../database/inTransaction.ts';
import { statements } from '../database/statements.ts';

/** The embedded event log in this service's own database. */
export function createEventLogStore(db: Db): EventLogStore {
  const appends = new EventEmitter();
  return {
    appends,
    async append(topic, records) {
      await inTransaction(db, async (tx) => {
        await tx.$executeRaw(statements.lockLog(topic));
        await tx.$executeRaw(statements.appendToLog(topic, records));
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
