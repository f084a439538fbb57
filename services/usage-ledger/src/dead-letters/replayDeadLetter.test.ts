import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { v7 as uuidv7 } from 'uuid';
import { aPartition, openTestLedger, type TestLedger, toValue } from '../../test/openTestLedger.ts';
import type { Db } from '../database/createDb.ts';
import type { Statement } from '../database/statements.ts';
import { countDeadLetters, dismissDeadLetter, findDeadLetter, listDeadLetters } from './findDeadLetters.ts';
import { replayDeadLetter } from './replayDeadLetter.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const WORKSPACE = 'ws_poisoned';
const KEYS = Array.from({ length: 40 }, (_, n) => `key_poisoned_${n}`);
const EVENTS = 10_000;
const BATCH = 1_000;

const changed = (event: UsageRecorded, fields: object): Buffer =>
  Buffer.from(JSON.stringify({ ...JSON.parse(String(toValue(event))), ...fields }));

/** Every way of spoiling an event that keeps it from being read. */
const POISONS: ((event: UsageRecorded) => Buffer)[] = [
  (event) => toValue(event).subarray(0, -1),
  (event) => changed(event, { model: 'a\u0000b' }),
  (event) => changed(event, { model: 'half \ud800' }),
  (event) => changed(event, { version: 3 }),
  (event) => changed(event, { promptTokens: 2 ** 70 }),
  (event) => changed(event, { completionTokens: -1 }),
  (event) => changed(event, { keyId: undefined, chargeNanoUsd: undefined }),
  (event) => changed(event, { region: 'eu' }),
  (event) => Buffer.concat([toValue(event), Buffer.from([0xff])]),
  (event) => changed(event, { padding: 'x'.repeat(5_000_000) }),
];

const rows = () => ledger.db.usageRequest.count({ where: { workspaceId: WORKSPACE } });
const spent = async () =>
  (await ledger.db.workspaceTotal.findUnique({ where: { workspaceId: WORKSPACE } }))?.chargeNanoUsd;

it('reads on past 100 poison events of 10,000, keeps them, and has all 10,000 once they are repaired', async () => {
  const events = Array.from({ length: EVENTS }, (_, n) =>
    aUsageRecorded({ workspaceId: WORKSPACE, keyId: KEYS[n % KEYS.length] ?? '', chargeNanoUsd: BigInt(n) }),
  );
  const poisoned = new Map<bigint, UsageRecorded>();
  const values = events.map((event, n) => {
    const poison = n % 100 === 37 ? POISONS[Math.floor(n / 100) % POISONS.length] : undefined;
    if (poison) poisoned.set(BigInt(n), event);
    return poison ? poison(event) : event;
  });
  const partition = aPartition(ledger.db);
  for (let start = 0; start < EVENTS; start += BATCH) await partition.deliver(values.slice(start, start + BATCH));

  expect(await rows()).toBe(9_900);
  expect(await countDeadLetters(ledger.db)).toBe(100);
  const letters = await listDeadLetters(ledger.db, { after: 0n, limit: 1_000, withEnded: false });
  expect(letters.map(({ offset }) => offset).sort()).toEqual([...poisoned.keys()].sort());

  // Read again as they are: nothing has changed about them, so they wait on.
  for (const { id } of letters) {
    const outcome = await replayDeadLetter(ledger.db, { id, repaired: undefined, region: 'us' });
    expect(outcome?.reason).toEqual(expect.any(String));
  }
  expect(await rows()).toBe(9_900);
  expect(await countDeadLetters(ledger.db)).toBe(100);

  for (const { id, offset } of letters) {
    const event = poisoned.get(offset) ?? aUsageRecorded();
    const replay = () => replayDeadLetter(ledger.db, { id, repaired: toValue(event), region: 'us' });
    expect((await Promise.all([replay(), replay()])).filter(Boolean)).toEqual([{ id, reason: null }]);
    expect(await replay()).toBeUndefined();
  }
  expect(await rows()).toBe(10_000);
  expect(await countDeadLetters(ledger.db)).toBe(0);
  expect((await spent())?.toFixed()).toBe(String((EVENTS * (EVENTS - 1)) / 2));
  // The original bytes stay beside the repaired ones.
  const [first] = letters;
  const kept = await findDeadLetter(ledger.db, first?.id ?? 0n);
  expect(kept).toMatchObject({ bytes: first?.bytes, replayedAt: expect.any(Date) });
});

it('records a letter that today’s reader can read from its own bytes', async () => {
  const aheadMs = Date.now() + 2 * 3_600_000;
  const event = aUsageRecorded({ callId: uuidv7({ msecs: aheadMs }), startedAtMs: aheadMs });
  const partition = aPartition(ledger.db);
  await partition.deliver([event]);
  const letter = await ledger.db.deadLetter.findFirstOrThrow({ where: { partition: partition.partition } });
  expect(letter.reason).toMatch('more than an hour ahead');
  const replay = (db: Db) => replayDeadLetter(db, { id: letter.deadLetterId, repaired: undefined, region: 'us' });
  const later: Db = Object.create(ledger.db, {
    query: {
      value: (statement: Statement) =>
        statement.name === 'readTime' ? [{ now: new Date(aheadMs) }] : ledger.db.query(statement),
    },
  });

  expect(await replay(ledger.db)).toMatchObject({ reason: expect.any(String) });
  expect(await replay(later)).toMatchObject({ reason: null });

  expect(await ledger.db.usageRequest.count({ where: { callId: event.callId } })).toBe(1);
  const postings = await ledger.db.posting.findMany({ where: { keyId: event.keyId } });
  expect(postings).toMatchObject([{ source: `dead letter ${letter.deadLetterId}` }]);
});

it('counts a call once, whose event came unspoiled as well', async () => {
  const event = aUsageRecorded();
  const partition = aPartition(ledger.db);
  await partition.deliver([toValue(event).subarray(1), event]);
  const letter = await ledger.db.deadLetter.findFirstOrThrow({ where: { partition: partition.partition } });
  const outcome = await replayDeadLetter(ledger.db, {
    id: letter.deadLetterId,
    repaired: toValue(event),
    region: 'us',
  });

  expect(outcome).toMatchObject({ reason: null });
  const total = await ledger.db.keyTotal.findUniqueOrThrow({ where: { keyId: event.keyId } });
  expect(total.chargeNanoUsd.toFixed()).toBe('125000');
});

it('counts a dismissed letter no more, and replays it all the same', async () => {
  const partition = aPartition(ledger.db);
  await partition.deliver([Buffer.from('{')]);
  const { deadLetterId: id } = await ledger.db.deadLetter.findFirstOrThrow({
    where: { partition: partition.partition },
  });
  const before = await countDeadLetters(ledger.db);
  expect(await dismissDeadLetter(ledger.db, { id, note: 'Nobody knows' })).toBe(true);
  expect(await countDeadLetters(ledger.db)).toBe(before - 1);

  const repaired = toValue(aUsageRecorded());
  expect(await replayDeadLetter(ledger.db, { id, repaired, region: 'us' })).toMatchObject({ reason: null });
  expect(await dismissDeadLetter(ledger.db, { id, note: 'Too late' })).toBe(false);
  expect(await countDeadLetters(ledger.db)).toBe(before - 1);
});

it('keeps a letter whose repair only Postgres refuses, says so, and goes on saying what is wrong with its own bytes', async () => {
  await ledger.ownerDb.$executeRaw`ALTER TABLE usage_request ADD CONSTRAINT no_curse CHECK (model <> 'cursed')`;
  const partition = aPartition(ledger.db);
  await partition.deliver([Buffer.from('{')]);
  const letter = await ledger.db.deadLetter.findFirstOrThrow({ where: { partition: partition.partition } });
  const outcome = await replayDeadLetter(ledger.db, {
    id: letter.deadLetterId,
    repaired: toValue(aUsageRecorded({ model: 'cursed' })),
    region: 'us',
  });

  expect(outcome).toMatchObject({ reason: 'refused by Postgres: 23514' });
  expect(await ledger.db.deadLetter.findFirst({ where: { deadLetterId: letter.deadLetterId } })).toMatchObject({
    reason: 'not JSON',
    replayedAt: null,
    repairedPayload: null,
  });
});

it.each([
  ['its own bytes', undefined],
  ['what it was repaired to', Buffer.from('{"callId": 7}')],
])('keeps the reason of its own bytes where %s cannot be read', async (_what, repaired) => {
  const partition = aPartition(ledger.db);
  await partition.deliver([Buffer.from('{')]);
  const letter = await ledger.db.deadLetter.findFirstOrThrow({ where: { partition: partition.partition } });
  const outcome = await replayDeadLetter(ledger.db, { id: letter.deadLetterId, repaired, region: 'us' });
  expect(outcome).toEqual({
    id: letter.deadLetterId,
    reason: expect.stringMatching(repaired ? /keyId/ : /^not JSON$/),
  });
  const kept = await ledger.db.deadLetter.findFirstOrThrow({ where: { deadLetterId: letter.deadLetterId } });
  expect(kept.reason).toBe('not JSON');
});
