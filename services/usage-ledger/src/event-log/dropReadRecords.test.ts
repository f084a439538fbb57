import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { EMBEDDED_PARTITION } from '@turnpike/event-log/consumeFromStore';
import type { Sql } from '@turnpike/postgres/sql';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { createEventLogStore } from './createEventLogStore.ts';
import { dropReadRecords } from './dropReadRecords.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

it('removes old records that were read, keeps the rest, and numbering goes on', async () => {
  const topic = 'old.v1';
  const store = createEventLogStore(ledger.db);
  const append = (count: number) => store.append(topic, Array(count).fill({ key: 'k', value: 'v' }));
  const offsets = async () =>
    (await store.read(topic, { fromOffset: 0n, limit: 100 })).map(({ offset }) => Number(offset));
  await append(10);
  await ledger.db.eventOffset.create({ data: { topic, partition: EMBEDDED_PARTITION, nextOffset: 6n } });
  expect(await dropReadRecords(ledger.db)).toBe(0);

  await ledger.ownerDb.$executeRaw`UPDATE event_log_record SET appended_at = now() - INTERVAL '15 days'`;
  await append(2);
  expect(await dropReadRecords(ledger.db)).toBe(5);
  expect(await offsets()).toEqual([5, 6, 7, 8, 9, 10, 11]);

  await ledger.db.eventOffset.updateMany({ where: { topic }, data: { nextOffset: 12n } });
  await ledger.ownerDb.$executeRaw`UPDATE event_log_record SET appended_at = now() - INTERVAL '15 days'`;
  await dropReadRecords(ledger.db);
  await append(1);
  expect(await offsets()).toEqual([11, 12]);
});

it('removes many in several statements, none of which takes long', async () => {
  const topic = 'many.v1';
  await ledger.ownerDb.$executeRaw`
    INSERT INTO event_log_record (topic, "offset", key, value, appended_at)
    SELECT ${topic}, number, 'k', 'v', now() - INTERVAL '15 days' FROM generate_series(0, 25000) AS number`;
  await ledger.db.eventOffset.create({ data: { topic, partition: EMBEDDED_PARTITION, nextOffset: 25_001n } });
  const removed: number[] = [];
  const db = Object.create(ledger.db, {
    execute: {
      value: async (statement: Sql) => {
        const count = await ledger.db.execute(statement);
        removed.push(count);
        return count;
      },
    },
  });
  expect(await dropReadRecords(db)).toBe(25_000);
  expect(Math.max(...removed)).toBe(10_000);
});
