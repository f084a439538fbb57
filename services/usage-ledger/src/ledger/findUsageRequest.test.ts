import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { v7 as uuidv7 } from 'uuid';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import type { Db } from '../database/createDb.ts';
import { findUsageRequest, findUsageRequestOf } from './findUsageRequest.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const FIRST_OF_JUNE = Date.UTC(2026, 5, 1);

async function recordedAt(startedAtMs: number) {
  const event = aUsageRecorded({ callId: uuidv7({ msecs: startedAtMs }), startedAtMs });
  await aPartition(ledger.db).deliver([event]);
  return event;
}

it.each([
  ['the first millisecond of a month', FIRST_OF_JUNE],
  ['the last millisecond of a month', FIRST_OF_JUNE - 1],
  ['the middle of a month', FIRST_OF_JUNE + 15 * 86_400_000],
])('finds a call of %s, for its key alone', async (_what, startedAtMs) => {
  const { callId, keyId } = await recordedAt(startedAtMs);
  expect(await findUsageRequest(ledger.db, { callId, keyId })).toMatchObject({ callId });
  expect(await findUsageRequest(ledger.db, { callId: callId.toUpperCase(), keyId })).toMatchObject({ callId });
  expect(await findUsageRequest(ledger.db, { callId, keyId: 'key_other' })).toBeUndefined();
});

it('never takes the call beside an id for the call of the id', async () => {
  const { callId, keyId } = await recordedAt(FIRST_OF_JUNE + 1_000);
  const number = BigInt(`0x${callId.replaceAll('-', '')}`);
  for (const beside of [number - 1n, number + 1n]) {
    const hex = beside.toString(16).padStart(32, '0');
    const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    expect(await findUsageRequest(ledger.db, { callId: id, keyId })).toBeUndefined();
  }
});

it('finds no call of media, whose handle is the job', async () => {
  const { callId, keyId } = aMediaUsageRecorded();
  await aPartition(ledger.db).deliver([aMediaUsageRecorded({ callId, keyId })]);
  expect(await findUsageRequest(ledger.db, { callId, keyId })).toBeUndefined();
});

const MINUTE_MS = 60_000;

it.each([
  ['at once', 3],
  ['after its body had come', 14 * MINUTE_MS],
  ['before it by the clock of the router', -MINUTE_MS + 1_000],
  ['in the next month', 5, FIRST_OF_JUNE - 3],
])(
  'finds the call of a request that began %s, and its trace',
  async (_what, afterMs, madeMs = FIRST_OF_JUNE + MINUTE_MS) => {
    const requestId = uuidv7({ msecs: madeMs });
    const traceId = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
    const startedAtMs = madeMs + afterMs;
    const traceparent = `00-${traceId.replaceAll('-', '')}-00f067aa0ba902b7-01`;
    const { callId } = aUsageRecorded({ startedAtMs });
    const known = aUsageRecorded({ callId, startedAtMs, requestId, traceparent });
    const others = [-1, 0, 1].map((ms) => aUsageRecorded({ startedAtMs: startedAtMs + ms, requestId: uuidv7() }));
    await aPartition(ledger.db).deliver([...others, known]);
    expect(await findUsageRequestOf(ledger.db, requestId)).toMatchObject({ callId, requestId, traceId });
    expect(await findUsageRequestOf(ledger.db, uuidv7({ msecs: madeMs }))).toBeUndefined();
  },
);

it('keeps the request of a call whose outcome becomes known', async () => {
  const requestId = uuidv7();
  const unknown = anUnchargedUsageRecorded('unknown', { requestId });
  const partition = aPartition(ledger.db);
  await partition.deliver([unknown]);
  expect(await findUsageRequestOf(ledger.db, requestId)).toMatchObject({ status: 'unknown' });
  await partition.deliver([{ ...unknown, status: 'failure' }]);
  expect(await findUsageRequestOf(ledger.db, requestId)).toMatchObject({ callId: unknown.callId, status: 'failure' });
});

it.each(['00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff', 'nonsense', ''])(
  'finds no call of a request %p',
  async (requestId) => {
    expect(await findUsageRequestOf(ledger.db, requestId)).toBeUndefined();
  },
);

it.each([
  ['the first instant there is', '00000000-0000-7000-8000-000000000000'],
  ['the last instant there is', 'ffffffff-ffff-7fff-bfff-ffffffffffff'],
])('finds nothing at %s', async (_what, callId) => {
  expect(await findUsageRequest(ledger.db, { callId, keyId: 'key_a' })).toBeUndefined();
});

it.each([
  ['nothing', ''],
  ['a word', 'nonsense'],
  ['a NUL', '\0'],
  ['a piece of SQL', "' OR true --"],
])('finds nothing at %s, which is no id', async (_what, callId) => {
  expect(await findUsageRequest(ledger.db, { callId, keyId: 'key_a' })).toBeUndefined();
});

it('reads one row for an id of another key and for one that was never issued, so that both take the same time', async () => {
  const { callId } = await recordedAt(FIRST_OF_JUNE + 2_000);
  const read = await ledger.db.$transaction(async (db) => {
    const rowsReadFor = async (id: string): Promise<bigint> => {
      const before = await rowsRead(db);
      await findUsageRequest(db, { callId: id, keyId: 'key_other' });
      return (await rowsRead(db)) - before;
    };
    return {
      otherKeys: await rowsReadFor(callId),
      neverIssued: await rowsReadFor(uuidv7({ msecs: FIRST_OF_JUNE + 3_000 })),
    };
  });
  expect(read).toEqual({ otherKeys: 1n, neverIssued: 1n });
});

/** Rows that this transaction fetched by index from June's partition until now. */
async function rowsRead(db: Pick<Db, '$queryRaw'>): Promise<bigint> {
  const [row] = await db.$queryRaw<{ n: bigint }[]>`
    SELECT idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = 'usage_request_2026_06'`;
  return row?.n ?? 0n;
}
