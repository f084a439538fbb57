import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import fc from 'fast-check';
import { aPartition, openTestLedger, type TestLedger, toValue } from '../../test/openTestLedger.ts';
import { addCredit } from '../credits/addCredit.ts';
import { type AskedWorkspace, statements } from '../database/statements.ts';
import { replayDeadLetter } from '../dead-letters/replayDeadLetter.ts';
import { type AbsorbedWorkspace, absorb } from './absorb.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
});
afterAll(() => ledger.close());

const aWorkspace = (): string => `ws_${randomUUID()}`;
const credit = (workspaceId: string, amountNanoUsd: bigint) =>
  addCredit(ledger.db, { creditId: randomUUID(), workspaceId, amountNanoUsd, note: '' });

async function ask(workspaceId: string, question: Partial<AskedWorkspace> = {}): Promise<AbsorbedWorkspace> {
  const asked = { workspaceId, month: '2026-11', keyIds: [], callIds: [], ...question };
  const [answer] = (await absorb(ledger.db, [asked])).workspaces;
  if (!answer) throw new Error('no answer');
  return answer;
}

it('knows nothing of a workspace nobody has heard of, and says so', async () => {
  expect(await ask('ws_none', { keyIds: ['key_none'], callIds: [aUsageRecorded().callId] })).toEqual({
    workspaceId: 'ws_none',
    seq: 0,
    leftNanoUsd: 0n,
    spentNanoUsdByMonth: new Map([['2026-11', 0n]]),
    spentNanoUsdByKey: new Map([['key_none', 0n]]),
    sinceByKey: new Map(),
    finalCallIds: [],
    unknownCallIds: [],
    deadLetterCallIds: [],
  });
});

it('gives what is left, of months from the one asked for on, and of the keys asked for', async () => {
  const workspaceId = aWorkspace();
  const [keyA, keyB, keyC] = ['a', 'b', 'c'].map((name) => `key_${name}_${workspaceId}`) as [string, string, string];
  await credit(workspaceId, 5_000n);
  await credit(workspaceId, -1_000n);
  const [september, october, november] = [8, 9, 10].map((month) => Date.UTC(2026, month, 2)) as [
    number,
    number,
    number,
  ];
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: september, chargeNanoUsd: 1n }),
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: october, chargeNanoUsd: 20n }),
    aUsageRecorded({ workspaceId, keyId: keyB, startedAtMs: november, chargeNanoUsd: 300n }),
    aUsageRecorded({ workspaceId, keyId: keyC, startedAtMs: november, chargeNanoUsd: 4_000n }),
  ]);
  expect(await ask(workspaceId, { month: '2026-10', keyIds: [keyA, keyB] })).toMatchObject({
    seq: 3,
    leftNanoUsd: -321n,
    spentNanoUsdByMonth: new Map([
      ['2026-10', 20n],
      ['2026-11', 4_300n],
    ]),
    spentNanoUsdByKey: new Map([
      [keyA, 21n],
      [keyB, 300n],
    ]),
  });
});

it('gives what keys have spent since a day, from its first millisecond on, and of no other workspace', async () => {
  const [workspaceId, other] = [aWorkspace(), aWorkspace()];
  const keyIds = ['a', 'b', 'c'].map((name) => `key_${name}_${workspaceId}`) as [string, string, string];
  const [keyA, keyB, keyC] = keyIds;
  const begin = Date.UTC(2026, 10, 23);
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: begin - 1, chargeNanoUsd: 1n }),
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: begin, chargeNanoUsd: 20n }),
    aUsageRecorded({ workspaceId, keyId: keyA, startedAtMs: begin + 90_000_000, chargeNanoUsd: 300n }),
    aUsageRecorded({ workspaceId: other, keyId: keyC, startedAtMs: begin, chargeNanoUsd: 4_000n }),
  ]);
  const since = { [keyA]: '2026-11-23', [keyB]: '2026-11-01', [keyC]: '2026-11-01' };
  expect((await ask(workspaceId, { since })).sinceByKey).toEqual(
    new Map([
      [keyA, { day: '2026-11-23', spentNanoUsd: 320n }],
      [keyB, { day: '2026-11-01', spentNanoUsd: 0n }],
      [keyC, { day: '2026-11-01', spentNanoUsd: 0n }],
    ]),
  );
});

it('says how calls are recorded, and gives the sums of their months and keys unasked', async () => {
  const workspaceId = aWorkspace();
  const [august, november] = [Date.UTC(2026, 7, 31), Date.UTC(2026, 10, 2)];
  const known = aUsageRecorded({ workspaceId, startedAtMs: august });
  const unknown = anUnchargedUsageRecorded('unknown', { workspaceId, startedAtMs: november });
  const foreign = aUsageRecorded();
  await aPartition(ledger.db).deliver([known, unknown, foreign]);
  const callIds = [known, unknown, foreign, aUsageRecorded(), known].map(({ callId }) => callId);

  expect(await ask(workspaceId, { month: '2026-12', callIds })).toEqual({
    workspaceId,
    seq: 1,
    leftNanoUsd: -125_000n,
    spentNanoUsdByMonth: new Map([
      ['2026-08', 125_000n],
      ['2026-11', 0n],
      ['2026-12', 0n],
    ]),
    spentNanoUsdByKey: new Map([
      [known.keyId, 125_000n],
      [unknown.keyId, 0n],
    ]),
    sinceByKey: new Map(),
    finalCallIds: [known.callId],
    unknownCallIds: [unknown.callId],
    deadLetterCallIds: [],
  });
});

it('names the calls with a dead letter, until it is replayed', async () => {
  const workspaceId = aWorkspace();
  const [unread, refused, recorded] = [0, 1, 2].map(() => aUsageRecorded({ workspaceId })) as [
    UsageRecorded,
    UsageRecorded,
    UsageRecorded,
  ];
  const laterVersion = toValue(unread).toString().replace('"version":1', '"version": 99');
  const partition = aPartition(ledger.db);
  await partition.deliver([Buffer.from(laterVersion), { ...refused, region: 'eu' }, recorded, Buffer.from([0xff, 0])]);
  const callIds = [unread, refused, recorded].map(({ callId }) => callId);
  const { finalCallIds, deadLetterCallIds } = await ask(workspaceId, { callIds });
  expect(finalCallIds).toEqual([recorded.callId]);
  expect(deadLetterCallIds.toSorted()).toEqual([unread.callId, refused.callId].toSorted());

  const [letter] = await ledger.db.deadLetter.findMany({ where: { partition: partition.partition, offset: 0n } });
  await replayDeadLetter(ledger.db, { id: letter?.deadLetterId ?? 0n, repaired: toValue(unread), region: 'us' });
  expect(await ask(workspaceId, { callIds })).toMatchObject({ deadLetterCallIds: [refused.callId] });
});

it('answers for each workspace by itself, whatever ids are asked for with another', async () => {
  const [one, other] = [aUsageRecorded(), aUsageRecorded({ chargeNanoUsd: 7n })];
  await aPartition(ledger.db).deliver([one, other]);
  const callIds = [one.callId, other.callId];
  const keyIds = [one.keyId, other.keyId];
  const asked = [one, other].map(({ workspaceId }) => ({ workspaceId, month: '2026-11', keyIds, callIds }));
  const { workspaces } = await absorb(ledger.db, asked);
  const [first, second] = [one, other].map((event) => workspaces.find((row) => row.workspaceId === event.workspaceId));
  expect([first?.leftNanoUsd, first?.finalCallIds]).toEqual([-125_000n, [one.callId]]);
  expect([second?.leftNanoUsd, second?.finalCallIds]).toEqual([-7n, [other.callId]]);
  expect(first?.spentNanoUsdByKey.get(other.keyId)).toBe(0n);
});

it('counts every change of sums once: batches, credits and what becomes known, and not what is only repeated', async () => {
  const workspaceId = aWorkspace();
  const seqs: number[] = [];
  const after = async (change: Promise<unknown>): Promise<void> => {
    await change;
    seqs.push((await ask(workspaceId)).seq);
  };
  const partition = aPartition(ledger.db);
  const [known, other] = [aUsageRecorded({ workspaceId }), aUsageRecorded({ workspaceId })];
  const unknown = anUnchargedUsageRecorded('unknown', known && { ...known, status: 'unknown', ...uncharged });
  await after(credit(workspaceId, 5n));
  await after(partition.deliver([unknown, other]));
  await after(partition.deliver([other, unknown]));
  await after(partition.deliver([known]));
  await after(partition.deliver([known, unknown]));
  await after(credit(workspaceId, -5n));
  expect(seqs).toEqual([1, 2, 2, 3, 3, 4]);
});

const uncharged = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  chargeNanoUsd: 0n,
  formulaNanoUsd: 0n,
};

/** So much larger than all charges together that how many there are shows in what is left. */
const CREDIT = 10n ** 15n;

it.each([1, 2, 3])('is of one state of the books while many write: run %i', async (seed) => {
  const shares = fc.sample(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { seed, numRuns: 20_000 });
  const share = (): number => shares.pop() ?? 0.5;
  const workspaceId = aWorkspace();
  const calls = Array.from({ length: 60 }, (_, n) =>
    aUsageRecorded({
      workspaceId,
      keyId: `key_${n % 4}_${workspaceId}`,
      startedAtMs: Date.UTC(2026, 8 + (n % 3), 20),
      chargeNanoUsd: BigInt(Math.floor(share() * 100_000)),
    }),
  );
  const callIds = calls.map(({ callId }) => callId);
  const byId = new Map(calls.map((call) => [call.callId, call]));
  let writers = 4;
  let written = 0;
  /** One after the other batches of some calls, each as unknown or as it ended, and a credit now and then. */
  async function write(): Promise<void> {
    const partition = aPartition(ledger.db);
    for (let nth = 0; nth < 25; nth += 1) {
      const batch = calls.filter(() => share() < 0.08).map((call) => (share() < 0.4 ? toUnknown(call) : call));
      if (share() < 0.2) await credit(workspaceId, CREDIT);
      if (batch.length > 0) await partition.deliver(batch);
      written += 1;
    }
    writers -= 1;
  }
  const answers: AbsorbedWorkspace[] = [];
  async function read(): Promise<void> {
    let lastSeq = 0;
    while (writers > 0) {
      const answer = await ask(workspaceId, { month: '2026-09', callIds });
      // A later question sees no earlier state.
      expect(answer.seq).toBeGreaterThanOrEqual(lastSeq);
      lastSeq = answer.seq;
      answers.push(answer);
      await delay(5);
    }
  }
  await Promise.all([write(), write(), write(), write(), read(), read(), read()]);
  expect(written).toBe(100);

  const chargesOf = (some: UsageRecorded[]): bigint => some.reduce((sum, call) => sum + call.chargeNanoUsd, 0n);
  const recordedIn = ({ finalCallIds }: AbsorbedWorkspace): UsageRecorded[] =>
    finalCallIds.map((id) => byId.get(id) as UsageRecorded);
  /** Credited amount, if the sums contain exactly the calls that the answer calls final. */
  const creditedIn = (answer: AbsorbedWorkspace): bigint => answer.leftNanoUsd + chargesOf(recordedIn(answer));
  for (const answer of answers) {
    const { spentNanoUsdByKey, spentNanoUsdByMonth } = answer;
    const recorded = recordedIn(answer);
    expect(creditedIn(answer) % CREDIT).toBe(0n);
    for (const [keyId, spent] of spentNanoUsdByKey)
      expect(spent).toBe(chargesOf(recorded.filter((call) => call.keyId === keyId)));
    for (const [month, spent] of spentNanoUsdByMonth)
      expect(spent).toBe(
        chargesOf(recorded.filter((call) => new Date(call.startedAtMs).toISOString().startsWith(month))),
      );
  }
  // The answer of the higher number contains the other. Answers of one number are the same.
  const inOrder = answers.toSorted((a, b) => a.seq - b.seq);
  for (const [index, later] of inOrder.entries()) {
    const earlier = inOrder[index - 1];
    if (!earlier) continue;
    if (earlier.seq === later.seq) expect(withIdsAsSets(later)).toEqual(withIdsAsSets(earlier));
    expect(new Set(later.finalCallIds)).toEqual(new Set([...later.finalCallIds, ...earlier.finalCallIds]));
    expect(creditedIn(later)).toBeGreaterThanOrEqual(creditedIn(earlier));
  }
  expect(new Set(answers.map(({ seq }) => seq)).size).toBeGreaterThan(10);
});

/** The ids of calls come in the order in which Postgres happens to read them. */
const withIdsAsSets = (answer: AbsorbedWorkspace) => ({
  ...answer,
  finalCallIds: new Set(answer.finalCallIds),
  unknownCallIds: new Set(answer.unknownCallIds),
});

const toUnknown = (call: UsageRecorded): UsageRecorded => ({ ...call, status: 'unknown', ...uncharged });

it('is silent on a timeline that the event log was not read again on', async () => {
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline() - 1`;
  const refusal = { fault: { kind: 'balances_catching_up' } };
  await expect(ask(aWorkspace())).rejects.toMatchObject(refusal);
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = NULL`;
  await expect(ask(aWorkspace())).rejects.toMatchObject(refusal);
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
  const [now] = await ledger.db.query(statements.readTimeline());
  const { timeline } = await absorb(ledger.db, [{ workspaceId: 'ws_x', month: '2026-11', keyIds: [], callIds: [] }]);
  expect(timeline).toBe(now?.timeline);
});

it('looks for calls by their ids alone, whatever the planner knows', async () => {
  const { text } = statements.absorb([]);
  const lines = await ledger.ownerDb.$transaction(async (tx) => {
    // A month of few calls may well be read whole, once Postgres has seen that they are few.
    await tx.$executeRaw`SET LOCAL enable_seqscan = off`;
    return tx.$queryRawUnsafe<Record<string, string>[]>(`EXPLAIN (GENERIC_PLAN) ${text}`);
  });
  const plan = lines.map((line) => Object.values(line)[0]);
  const scans = plan.filter((line) => / on usage_request_\d/.test(line ?? ''));
  expect(scans.length).toBeGreaterThan(0);
  for (const scan of scans) expect(scan).toMatch(/Index Scan using usage_request_\d+_\d+_pkey/);
  expect(plan.filter((line) => line?.includes('Index Cond: (call_id = (unnest('))).toHaveLength(scans.length);
});
