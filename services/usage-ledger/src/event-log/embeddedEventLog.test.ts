import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { consumeFromStore } from '@turnpike/event-log/consumeFromStore';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { describeEventLog } from '@turnpike/event-log/eventLogContract';
import { openTestLedger, silentLog, type TestLedger } from '../../test/openTestLedger.ts';
import { internalHeaders, startTestService, type TestService } from '../../test/startTestService.ts';
import { statements } from '../database/statements.ts';
import { createEventLogStore } from './createEventLogStore.ts';

let ledger: TestLedger;
let service: TestService;
beforeAll(async () => {
  ledger = await openTestLedger();
  service = await startTestService(ledger, { authUrl: 'http://127.0.0.1:1', usageQueryTimeoutMs: 5_000 });
});
afterAll(async () => {
  await service.close();
  await ledger.close();
});

const createProducer = () => createEmbeddedProducer({ url: service.internalUrl, internalHeaders });

describeEventLog('embedded, over HTTP and Postgres', () => ({
  newTopic: () => `contract.${randomUUID()}.v1`,
  createProducer,
  // A store of its own hears of no append in the service's, so this also tests polling.
  consume: (options) => consumeFromStore({ ...options, store: createEventLogStore(ledger.db), log: silentLog }),
}));

it('numbers records from 0 without gaps, whoever appends them', async () => {
  const topic = `numbers.${randomUUID()}.v1`;
  const stores = Array.from({ length: 5 }, () => createEventLogStore(ledger.db));
  await Promise.all(
    stores.flatMap((store) => [1, 2, 3].map((n) => store.append(topic, Array(n).fill({ key: 'k', value: 'v' })))),
  );

  const records = await createEventLogStore(ledger.db).read(topic, { fromOffset: 0n, limit: 100 });
  expect(records.map(({ offset }) => Number(offset))).toEqual([...Array(30).keys()]);
});

it('reads no more of a long log than it gives, whatever the planner knows', async () => {
  const topic = `long.${randomUUID()}.v1`;
  const [records, limit] = [5_000, 100];
  await createEventLogStore(ledger.db).append(topic, Array(records).fill({ key: 'k', value: 'v' }));
  const { text, values } = statements.readLog(topic, 1_000n, limit);

  const [plan] = await ledger.ownerDb.$queryRawUnsafe<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    ...values,
  );

  const read = plan?.['QUERY PLAN'].map(({ Plan }) => rowsReadBy(Plan));
  // Its own, and one for where each end of the range lies.
  expect(read).toEqual([limit + 2]);
});

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Rows that a step of a plan and those below it have read from tables. */
function rowsReadBy(node: PlanNode): number {
  const own = node['Actual Rows'] * node['Actual Loops'] + (node['Rows Removed by Filter'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, plan) => sum + rowsReadBy(plan), 0);
  return 'Relation Name' in node ? below + own : below;
}

const ANY_BYTES = [String.fromCharCode(...Array(0x250).keys()), '\\\\101 \\0 \\', '', '€ 𝄞 \n"{}"'];

it('gives every byte back as it was appended', async () => {
  const topic = `bytes.${randomUUID()}.v1`;
  const store = createEventLogStore(ledger.db);
  await store.append(
    topic,
    ANY_BYTES.map((value, nth) => ({ key: `k${nth}`, value })),
  );

  const records = await store.read(topic, { fromOffset: 0n, limit: 100 });
  expect(records).toEqual(
    ANY_BYTES.map((value, nth) => ({ offset: BigInt(nth), key: `k${nth}`, value: Buffer.from(value) })),
  );
});

it('takes what the version before appends', async () => {
  const topic = `before.${randomUUID()}.v1`;
  const store = createEventLogStore(ledger.db);
  await store.append(topic, [{ key: 'k', value: 'first' }]);
  const contents = ANY_BYTES.map((value) => Buffer.from(value).toString('base64'));
  await ledger.db
    .$queryRaw`SELECT append_to_event_log(${topic}, ${ANY_BYTES.map(() => 'k')}::TEXT[], ${contents}::TEXT[])::TEXT`;

  const records = await store.read(topic, { fromOffset: 1n, limit: 100 });
  expect(records.map(({ offset }) => offset)).toEqual([1n, 2n, 3n, 4n]);
  expect(records.map(({ value }) => value)).toEqual(ANY_BYTES.map((value) => Buffer.from(value)));
});

it('rejects an append that the log did not take', async () => {
  const producer = createEmbeddedProducer({
    url: service.internalUrl,
    internalHeaders: () => ({}),
  });
  await expect(producer.append('refused.v1', [{ key: 'k', value: 'v' }])).rejects.toThrow('401');
  await producer.close();
  expect(await createEventLogStore(ledger.db).endOffset('refused.v1')).toBe(0n);
});
