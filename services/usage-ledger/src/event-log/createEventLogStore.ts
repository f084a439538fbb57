import { EventEmitter } from 'node:events';
import type { EventLogStore } from '@turnpike/event-log/consumeFromStore';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** The embedded event log in this service's own database. */
export function createEventLogStore(db: Db): EventLogStore {
  const appends = new EventEmitter();
  return {
    appends,
    async append(topic, records) {
      await db.query(statements.appendToLog(topic, records));
      appends.emit(topic);
    },
    async read(topic, { fromOffset, limit }) {
      const rows = await db.query(statements.readLog(topic, fromOffset, limit));
      return rows.map(({ offset, key, value }) => ({ offset, key, value: unescapeBytes(value) }));
    },
    async endOffset(topic) {
      const [log] = await db.query(statements.readLogEnd(topic));
      return log?.end ?? 0n;
    },
  };
}

/** The bytes of Postgres' escape format: a backslash is doubled there, and what is no ASCII is a backslash and three octal digits. */
function unescapeBytes(text: string): Buffer {
  const bytes = text.includes('\\')
    ? text.replace(/\\(\\|[0-7]{3})/g, (_, byte: string) =>
        byte === '\\' ? byte : String.fromCharCode(Number.parseInt(byte, 8)),
      )
    : text;
  return Buffer.from(bytes, 'latin1');
}
