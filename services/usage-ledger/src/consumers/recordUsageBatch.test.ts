import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import { isCanceled } from '@turnpike/postgres/databaseFailure';
import { until } from '@turnpike/test-support/until';
import {
  aPartition,
  openTestLedger,
  PATIENCE,
  silentLog,
  type TestLedger,
  toValue,
} from '../../test/openTestLedger.ts';
import { createDb } from '../database/createDb.ts';
import type { RecordedBatch } from './recordingTelemetry.ts';
import { getNextOffset, OffsetMoved, recordUsageBatch } from './recordUsageBatch.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const rowsOf = ({ callId }: UsageRecorded) => ledger.db.usageRequest.findMany({ where: { callId } });
const totalsOf = async ({ keyId, workspaceId }: UsageRecorded) => {
  const key = await ledger.db.keyTotal.findUnique({ where: { keyId } });
  const workspace = await ledger.db.workspaceTotal.findUnique({ where: { workspaceId } });
  const months = await ledger.db.workspaceMonthTotal.findMany({ where: { workspaceId } });
  return [key, workspace, ...months].map((total) => (total ? BigInt(total.chargeNanoUsd.toFixed()) : undefined));
};
const hoursOf = async ({ keyId }: UsageRecorded) =>
  (await ledger.db.keyHourTotal.findMany({ where: { keyId } })).map((hour) => ({
    counts: [hour.requests, hour.success, hour.failure, hour.unknown].map(Number),
    tokens: [hour.promptTokens, hour.cachedPromptTokens, hour.completionTokens].map(Number),
    charge: BigInt(hour.chargeNanoUsd.toFixed()),
  }));

it('writes every field of a call and adds its charge to each total', async () => {
  const event = aUsageRecorded({ reason: 'client_left' });
  await aPartition(ledger.db).deliver([event]);

  const [row, ...others] = await rowsOf(event);
  expect(others).toEqual([]);
  const { version: _version, startedAtMs, endedAtMs, ...fields } = event;
  expect(row).toMatchObject({
    ...fields,
    totalTokens: 200n,
    startedAt: new Date(startedAtMs),
    endedAt: new Date(endedAtMs),
  });
  expect(await totalsOf(event)).toEqual([125_000n, 125_000n, 125_000n]);
  expect(await hoursOf(event)).toEqual([{ counts: [1, 1, 0, 0], tokens: [120, 20, 80], charge: 125_000n }]);
});

it('writes the units of media, and adds them to those of the hour by what they are billed by, once', async () => {
  const first = aMediaUsageRecorded();
  const { keyId, workspaceId, startedAtMs } = first;
  const own = { keyId, workspaceId, startedAtMs, canonicalModel: first.canonicalModel };
  const second = aMediaUsageRecorded({ ...own, units: 5 });
  const none = { units: 0, chargeNanoUsd: 0n, formulaNanoUsd: 0n };
  const partition = aPartition(ledger.db);
  await partition.deliver([first, { ...second, status: 'unknown', ...none }]);
  await partition.deliver([first, second, aMediaUsageRecorded({ ...own, status: 'failure', ...none }), second]);

  expect(await rowsOf(second)).toMatchObject([{ units: 5, modality: 'image', billingUnit: 'image', promptTokens: 0 }]);
  expect(await hoursOf(first)).toEqual([{ counts: [3, 2, 1, 0], tokens: [0, 0, 0], charge: 250_000n }]);
  const hours = await ledger.db.$queryRaw`
    SELECT canonical_model AS model, modality, billing_unit AS unit, units::INT AS units FROM key_hour_units WHERE key_id = ${keyId}`;
  expect(hours).toEqual([{ model: 'small-image', modality: 'image', unit: 'image', units: 7 }]);
});

it('charges a call once when its event is delivered again, in the same batch and in a later one', async () => {
  const event = aUsageRecorded();
  const partition = aPartition(ledger.db);
  await partition.deliver([event, event]);
  await partition.deliver([event]);

  expect(await rowsOf(event)).toHaveLength(1);
  expect(await totalsOf(event)).toEqual([125_000n, 125_000n, 125_000n]);
  expect((await hoursOf(event))[0]?.counts).toEqual([1, 1, 0, 0]);
});

it.each(['one batch', 'two batches'])('lets an unknown outcome become known, in %s', async (how) => {
  const known = aUsageRecorded();
  const unknown = anUnchargedUsageRecorded('unknown', known && { ...known, status: 'unknown', ...uncharged });
  const partition = aPartition(ledger.db);
  if (how === 'one batch') await partition.deliver([unknown, known, unknown]);
  else {
    await partition.deliver([unknown]);
    expect((await hoursOf(known))[0]?.counts).toEqual([1, 0, 0, 1]);
    await partition.deliver([known, unknown]);
  }

  expect((await rowsOf(known))[0]).toMatchObject({ status: 'success', chargeNanoUsd: 125_000n, completionTokens: 80 });
  expect(await totalsOf(known)).toEqual([125_000n, 125_000n, 125_000n]);
  expect(await hoursOf(known)).toEqual([{ counts: [1, 1, 0, 0], tokens: [120, 20, 80], charge: 125_000n }]);
});

const uncharged = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  chargeNanoUsd: 0n,
  formulaNanoUsd: 0n,
};

it('posts what a batch costs each key, once, and says where the batch stood', async () => {
  const [one, other] = [aUsageRecorded(), aUsageRecorded()];
  const free = anUnchargedUsageRecorded('failure', { keyId: one.keyId, workspaceId: one.workspaceId });
  const again = aUsageRecorded({ keyId: one.keyId, workspaceId: one.workspaceId, chargeNanoUsd: 7n });
  const partition = aPartition(ledger.db);
  await partition.deliver([one, other, free, again]);
  await partition.deliver([one, free]);

  const postings = await ledger.db.posting.findMany({ where: { keyId: { in: [one.keyId, other.keyId] } } });
  const source = `usage.recorded.v1/${partition.partition}/0`;
  const legs = postings.map((posting) => [
    posting.keyId,
    posting.source,
    posting.walletNanoUsd.toFixed(),
    posting.counterNanoUsd.toFixed(),
  ]);
  expect(legs).toHaveLength(2);
  expect(legs).toEqual(
    expect.arrayContaining([
      [one.keyId, source, '-125007', '125007'],
      [other.keyId, source, '-125000', '125000'],
    ]),
  );
});

it('never changes a known outcome', async () => {
  const success = aUsageRecorded();
  const partition = aPartition(ledger.db);
  await partition.deliver([success]);
  await partition.deliver([{ ...success, status: 'failure', ...uncharged }]);
  await partition.deliver([{ ...success, status: 'unknown', ...uncharged }]);
  await partition.deliver([{ ...success, chargeNanoUsd: 1n }]);

  expect((await rowsOf(success))[0]).toMatchObject({ status: 'success', chargeNanoUsd: 125_000n });
  expect(await totalsOf(success)).toEqual([125_000n, 125_000n, 125_000n]);
});

it('does not let another key’s event take over an unknown call', async () => {
  const unknown = anUnchargedUsageRecorded('unknown');
  const foreign = aUsageRecorded({ callId: unknown.callId });
  await aPartition(ledger.db).deliver([unknown]);
  await aPartition(ledger.db).deliver([foreign]);

  expect((await rowsOf(unknown))[0]).toMatchObject({ status: 'unknown', keyId: unknown.keyId });
  expect(await totalsOf(foreign)).toEqual([undefined, undefined]);
});

it('counts a call in the hour and month it was admitted in, whenever it ended', async () => {
  const startedAtMs = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
  const event = aUsageRecorded({ startedAtMs, endedAtMs: startedAtMs + 60_000 });
  await aPartition(ledger.db).deliver([event]);

  const { keyId, workspaceId } = event;
  expect(await ledger.db.keyHourTotal.findFirst({ where: { keyId } })).toMatchObject({
    hour: new Date('2026-01-31T23:00:00Z'),
  });
  expect(await ledger.db.workspaceMonthTotal.findFirst({ where: { workspaceId } })).toMatchObject({
    month: new Date('2026-01-01'),
  });
});

it('never shows an end before the start, however the clocks differ', async () => {
  const event = aUsageRecorded({ startedAtMs: Date.now(), endedAtMs: Date.now() - 5_000 });
  await aPartition(ledger.db).deliver([event]);

  expect((await rowsOf(event))[0]?.endedAt).toEqual(new Date(event.startedAtMs));
});

it('moves the offset with the rows, and changes nothing when another consumer has moved it', async () => {
  const [first, rival] = [aUsageRecorded(), aUsageRecorded()];
  const partition = aPartition(ledger.db);
  await partition.deliver([first]);
  const place = { topic: usageRecorded.topic, partition: partition.partition };
  expect(await getNextOffset(ledger.db, place)).toBe(1n);

  await expect(partition.deliver([rival, rival], { fromOffset: 0n })).rejects.toThrow(OffsetMoved);

  expect(await rowsOf(rival)).toEqual([]);
  expect(await totalsOf(rival)).toEqual([undefined, undefined]);
  expect(await getNextOffset(ledger.db, place)).toBe(1n);
});

it('lets one of two consumers of the same batch record it', async () => {
  const event = aUsageRecorded();
  const partition = aPartition(ledger.db);
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => partition.deliver([event], { fromOffset: 0n })),
  );

  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await totalsOf(event)).toEqual([125_000n, 125_000n, 125_000n]);
});

it('keeps poison as dead letters with offset and reason, records the rest, and moves on', async () => {
  const good = [aUsageRecorded(), aUsageRecorded()] as const;
  const poison = Buffer.from('{"version": 7}');
  const partition = aPartition(ledger.db);
  await partition.deliver([good[0], poison, good[1], Buffer.from([0xff, 0xfe])]);

  for (const event of good) expect(await rowsOf(event)).toHaveLength(1);
  const letters = await ledger.db.deadLetter.findMany({
    where: { partition: partition.partition },
    orderBy: { offset: 'asc' },
  });
  expect(letters.map(({ offset }) => offset)).toEqual([1n, 3n]);
  expect(Buffer.from(letters[0]?.payload ?? [])).toEqual(poison);
  expect(letters[0]?.reason).toMatch('version');
  expect(letters[1]?.reason).toBe('not UTF-8');
  expect(await getNextOffset(ledger.db, { topic: usageRecorded.topic, partition: partition.partition })).toBe(4n);
});

describe('a call that lies ahead of a clock', () => {
  const HOURS_2 = 2 * 60 * 60 * 1_000;
  const ahead = () => aUsageRecorded({ startedAtMs: Date.now() + HOURS_2 });
  const lettersOf = (partition: number) => ledger.db.deadLetter.findMany({ where: { partition } });

  it('is recorded by the clock of the database, however slow this process’ is', async () => {
    const event = aUsageRecorded();
    await aPartition(ledger.db).deliver([event], { now: new Date(Date.now() - HOURS_2) });
    expect(await rowsOf(event)).toHaveLength(1);
  });

  it('waits, and no other goes before it, where the two clocks differ: neither can be trusted', async () => {
    const [early, event] = [aUsageRecorded(), ahead()];
    const partition = aPartition(ledger.db);
    await expect(partition.deliver([early, event], { now: new Date(event.startedAtMs) })).rejects.toThrow(
      /clock .* more than an hour apart/,
    );
    expect([await rowsOf(early), await rowsOf(event), await lettersOf(partition.partition)]).toEqual([[], [], []]);
  });

  it('is a dead letter where both agree: its router’s clock is wrong, and holds up nobody else', async () => {
    const [good, event] = [aUsageRecorded(), ahead()];
    const partition = aPartition(ledger.db);
    await partition.deliver([event, good]);
    expect([await rowsOf(good), await rowsOf(event)]).toEqual([[expect.anything()], []]);
    expect(await lettersOf(partition.partition)).toMatchObject([
      { offset: 0n, reason: 'an instant lies more than an hour ahead' },
    ]);
  });
});

it.each([
  ['lost before they were read', 4n, 9n],
  ['of a log that was made anew', 4n, 0n],
])(
  'reads on after records %s, counts that once, and raises an alert that names the offsets',
  async (_case, expected, found) => {
    const { partition } = aPartition(ledger.db);
    const place = { topic: usageRecorded.topic, partition };
    await ledger.db.eventOffset.create({ data: { ...place, nextOffset: expected } });
    const event = aUsageRecorded();
    const [gaps, alerts]: [boolean[], unknown[]] = [[], []];
    const log = Object.assign(Object.create(silentLog) as Logger, {
      error: (...line: unknown[]) => void alerts.push(line),
    });
    const context = {
      topic: usageRecorded.topic,
      region: 'us' as const,
      now: new Date(),
      log,
      mostRecords: new Map(),
      telemetry: { batchRecorded: ({ isAfterGap }: RecordedBatch) => void gaps.push(isAfterGap) },
    };
    const record = (fromOffset: bigint, offset: bigint) =>
      recordUsageBatch(
        ledger.db,
        {
          partition,
          fromOffset,
          records: [{ offset, key: 'a', value: toValue(event) }],
          nextOffset: offset + 1n,
          isAtEnd: true,
        },
        context,
      );
    await record(expected, found);
    await record(found + 1n, found + 1n);

    expect(await rowsOf(event)).toHaveLength(1);
    expect(gaps).toEqual([true, false]);
    expect(alerts).toEqual([
      [{ ...place, expected: String(expected), found: String(found) }, 'ALERT the event log lacks records'],
    ]);
  },
);

it('finds the one record that only Postgres refuses, and records all others', async () => {
  await ledger.ownerDb.$executeRaw`ALTER TABLE usage_request ADD CONSTRAINT no_curse CHECK (model <> 'cursed')`;
  const events = Array.from({ length: 9 }, (_, n) => aUsageRecorded(n === 5 ? { model: 'cursed' } : {}));
  const partition = aPartition(ledger.db);
  await partition.deliver(events);

  const rows = await Promise.all(events.map(rowsOf));
  expect(rows.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 0, 1, 1, 1]);
  const letters = await ledger.db.deadLetter.findMany({ where: { partition: partition.partition } });
  expect(letters).toMatchObject([{ offset: 5n, reason: 'refused by Postgres: 23514' }]);
});

it('records one call of two spellings once, and all that is beside it', async () => {
  const [call, honest] = [aUsageRecorded(), aUsageRecorded()];
  const upper = Buffer.from(toValue(call).toString().replace(call.callId, call.callId.toUpperCase()));
  await aPartition(ledger.db).deliver([upper, call, honest]);
  expect([await rowsOf(call), await rowsOf(honest)]).toEqual([[expect.anything()], [expect.anything()]]);
  expect((await totalsOf(call))[0]).toBe(125_000n);
});

it('halves a batch that takes longer than its deadline until it is recorded, and grows again', async () => {
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$`);
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE TRIGGER dawdle BEFORE INSERT ON usage_request FOR EACH ROW WHEN (NEW.model = 'slow') EXECUTE FUNCTION dawdle()`);
  const hasty = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, ...PATIENCE, statementTimeoutMs: 1_000 });
  const partition = aPartition(hasty);
  const place = { topic: usageRecorded.topic, partition: partition.partition };
  /** Delivers events until they are recorded, and returns how often. On a busy machine a quick batch may be late too. */
  async function deliverAll(events: UsageRecorded[]): Promise<number> {
    const first = Number(await getNextOffset(ledger.db, place));
    let attempts = 0;
    // The event log reads from the stored offset too, which an earlier attempt may have moved.
    await until('all to be recorded', async () => {
      attempts += 1;
      const done = Number(await getNextOffset(ledger.db, place));
      await partition
        .deliver(events.slice(done - first), { fromOffset: BigInt(done) })
        .catch((error) => expect(isCanceled(error)).toBe(true));
      return Number(await getNextOffset(ledger.db, place)) === first + events.length;
    });
    return attempts;
  }
  const slow = Array.from({ length: 12 }, () => aUsageRecorded({ model: 'slow' }));
  expect(await deliverAll(slow)).toBeGreaterThan(1);
  expect((await Promise.all(slow.map(rowsOf))).flat()).toHaveLength(12);
  const quick = Array.from({ length: 12 }, () => aUsageRecorded());
  await deliverAll(quick);
  await hasty.$disconnect();
  expect((await Promise.all(quick.map(rowsOf))).flat()).toHaveLength(12);
});

it('sums exactly when many writers share a key and a workspace', async () => {
  const shared = aUsageRecorded();
  const { keyId, workspaceId, startedAtMs } = shared;
  const batches = Array.from({ length: 24 }, () =>
    Array.from({ length: 10 }, (_, n) =>
      aUsageRecorded({ keyId: n % 2 ? keyId : `${keyId}-${n}`, workspaceId, startedAtMs }),
    ),
  );
  await Promise.all(batches.map((events) => aPartition(ledger.db).deliver(events)));

  expect(await totalsOf(shared)).toEqual([125_000n * 120n, 125_000n * 240n, 125_000n * 240n]);
});

it('takes a charge of a nano-dollar and one of nearly 10^18', async () => {
  const large = 999_999_999_999_999_999n;
  const event = aUsageRecorded({ chargeNanoUsd: large, formulaNanoUsd: large, holdNanoUsd: large });
  const small = aUsageRecorded({ keyId: event.keyId, workspaceId: event.workspaceId, chargeNanoUsd: 1n });
  await aPartition(ledger.db).deliver([event, small, toValue(small)]);

  expect((await totalsOf(event))[0]).toBe(10n ** 18n);
});
