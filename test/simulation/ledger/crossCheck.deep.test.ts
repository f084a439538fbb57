import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { seededRandom } from '../../../bench/seededRandom.ts';
import { absorb } from '../../../services/usage-ledger/src/balances/absorb.ts';
import { getBalances } from '../../../services/usage-ledger/src/balances/getBalances.ts';
import { addCredit } from '../../../services/usage-ledger/src/credits/addCredit.ts';
import type { Db } from '../../../services/usage-ledger/src/database/createDb.ts';
import { statements } from '../../../services/usage-ledger/src/database/statements.ts';
import { ensureUsagePartitions, recordUsage } from '../../../services/usage-ledger/src/ledger/recordUsage.ts';
import { createReportRouter } from '../../../services/usage-ledger/src/recovery/reportRouter.ts';
import { openStoppedLedger, type StoppedLedger } from '../../../services/usage-ledger/test/openStoppedLedger.ts';
import { silentLog } from '../../../services/usage-ledger/test/openTestLedger.ts';
import { World } from '../world/world.ts';
import { SimulatedDatabase } from './simulatedDatabase.ts';

// Compares the stand-in for the ledger's Postgres with a real one.

let ledger: StoppedLedger;
beforeAll(async () => {
  ledger = await openStoppedLedger();
});
afterAll(() => ledger.close());

/** A database, real or simulated. */
interface Place {
  db: Db;
  /** The number of the real server's run. */
  timeline: number;
  /** Time passes there. */
  pass: (seconds: number) => Promise<unknown>;
  /** Sets the timeline that it last caught up with to another one than its own. */
  comeFrom: (former: number) => Promise<unknown>;
}

/** Returns the results of one life in the simulated database, and of the same in the real one. */
async function inBoth(live: (place: Place) => Promise<unknown>): Promise<{ simulated: unknown; real: unknown }> {
  const { db } = ledger;
  const comeFrom = (former: number) => db.$executeRaw`UPDATE recovery SET timeline = ${former}`;
  const [now] = await db.query(statements.readTimeline());
  const { timeline } = now ?? { timeline: 0 };
  const real = await live({ db, timeline, pass: ledger.pass, comeFrom });
  const world = new World(1);
  const database = new SimulatedDatabase(world);
  database.timeline = timeline;
  let simulated: unknown;
  await world.run(async () => {
    simulated = await live({
      db: database.asDb(),
      timeline,
      pass: (seconds) => world.sleep(seconds * 1_000),
      async comeFrom(former) {
        database.tables.recovery = { ...database.tables.recovery, timeline: former };
      },
    });
  }, 3_600_000);
  return { simulated, real };
}

it('records random batches, adds credits and gives balances as the ledger’s functions in Postgres do', async () => {
  const share = seededRandom(7);
  const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
  const workspaces = ['w1', 'w2'];
  const startedAtMs = Date.UTC(2026, 9, 31, 23, 59, 58);
  const calls = Array.from({ length: 60 }, (_, nth) =>
    aUsageRecorded({ keyId: `k${nth % 4}`, workspaceId: `w${(nth % 2) + 1}`, startedAtMs: startedAtMs + nth * 100 }),
  );
  await ensureUsagePartitions(
    ledger.db,
    calls.map((call) => new Date(call.startedAtMs)),
  );
  const batches: UsageRecorded[][] = Array.from({ length: 120 }, () => {
    const chosen = new Set(Array.from({ length: 1 + Math.floor(share() * 8) }, () => pick(calls)));
    return [...chosen].map((call) => {
      const status = pick(['success', 'failure', 'unknown'] as const);
      const tokens = status === 'success' ? Math.floor(share() * 500) : 0;
      return {
        ...call,
        status,
        promptTokens: tokens,
        cachedPromptTokens: 0,
        completionTokens: tokens,
        chargeNanoUsd: BigInt(tokens) * 100n,
      };
    });
  });
  const questions = batches.map(() =>
    workspaces.map((workspaceId) => ({
      workspaceId,
      month: pick(['2026-09', '2026-10', '2026-11', '2026-12']),
      keyIds: calls.filter(() => share() < 0.02).map(({ keyId }) => keyId),
      since: { k0: pick(['2026-10-31', '2026-11-01']), k1: pick(['2026-10-26', '2026-11-01']) },
      callIds: calls.filter(() => share() < 0.2).map(({ callId }) => callId),
    })),
  );
  async function live({ db, timeline: current }: Place): Promise<unknown[]> {
    const seen: unknown[] = [];
    const absorbAll = async (nth: number): Promise<unknown> => {
      const { timeline, workspaces: answers } = await absorb(db, questions[nth] ?? []);
      return {
        timeline,
        answers: answers
          .map(({ finalCallIds, unknownCallIds, ...sums }) => ({
            ...sums,
            final: finalCallIds.toSorted(),
            unknown: unknownCallIds.toSorted(),
          }))
          .sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1)),
      };
    };
    seen.push(await absorbAll(0).catch((error: Error) => error.message));
    seen.push(await db.query(statements.catchUp(current, [])));
    for (const [nth, batch] of batches.entries()) {
      seen.push(await db.transaction((tx) => recordUsage(tx, 'test', batch)));
      const workspaceId = workspaces[nth % 2] ?? '';
      const credit = { creditId: `c${nth % 30}-${workspaceId}`, workspaceId, amountNanoUsd: 5_000n, note: 'test' };
      if (nth % 10 === 0) seen.push(await addCredit(db, credit));
      seen.push(await getBalances(db, { workspaceId, month: nth % 3 === 0 ? '2026-10' : '2026-11' }));
      seen.push(await absorbAll(nth));
    }
    return seen;
  }
  const { simulated, real } = await inBoth(live);
  expect(simulated).toEqual(real);
});

it('records a batch where its partition stands as Postgres does, and nothing of one elsewhere', async () => {
  const events = [aUsageRecorded({ workspaceId: 'batches' }), aUsageRecorded({ workspaceId: 'batches' })];
  async function live({ db }: Place): Promise<unknown[]> {
    await ensureUsagePartitions(db, [new Date()]);
    const seen: unknown[] = [];
    const record = async (from: bigint, to: bigint, some: UsageRecorded[]): Promise<void> => {
      const letter = { offset: from, reason: 'none', payload: Buffer.from('x') };
      const batch = { source: 'batch', events: some, deadLetters: some.length > 0 ? [letter] : [] };
      seen.push(await db.query(statements.recordBatch({ topic: 'batches.v1', partition: 1 }, { from, to }, batch)));
      seen.push(await getBalances(db, { workspaceId: 'batches', month: '2026-11' }));
    };
    await record(3n, 4n, events);
    await record(0n, 2n, events.slice(0, 1));
    await record(0n, 2n, events);
    await record(1n, 3n, events);
    await record(2n, 3n, []);
    await record(3n, 5n, events);
    return seen;
  }
  const { simulated, real } = await inBoth(live);
  expect(simulated).toEqual(real);
  const answers = (real as unknown[]).filter((_, nth) => nth % 2 === 0);
  expect(answers).toEqual([[], [{ recorded: 1n }], [], [], [{ recorded: 0n }], [{ recorded: 1n }]]);
});

it('catches up with a timeline as Postgres does', async () => {
  const topic = 'caught.v1';
  async function live({ db, timeline: current, comeFrom, pass }: Place): Promise<unknown[]> {
    const place = { topic, partition: 3 };
    const seen: unknown[] = [];
    const catchUp = async (timeline: number, end: bigint): Promise<void> => {
      seen.push(await db.query(statements.catchUp(timeline, [{ ...place, end }])));
      seen.push(await db.query(statements.readTimeline()));
      const [recovery] = await db.query(statements.readRecovery('0-9'));
      seen.push(recovery?.servers.map(({ isOpen, raisedMsAgo }) => [isOpen, raisedMsAgo > 9_000]));
    };
    for (const redisId of ['a', 'b']) await db.execute(statements.takeRedis({ shard: '0-9', redisId }));
    const [taken] = await db.query(statements.readRecovery('0-9'));
    const { mark = '' } = taken?.servers[0] ?? {};
    await db.execute(statements.openRedis({ shard: '0-9', redisId: 'a', mark }));
    await pass(10);
    await comeFrom(0);
    await catchUp(current, 5n);
    const nothing = { source: 'nobody', events: [], deadLetters: [] };
    await db.query(statements.recordBatch(place, { from: 0n, to: 5n }, nothing));
    // This timeline is not the database's own.
    await catchUp(current + 1, 5n);
    await catchUp(current, 6n);
    await catchUp(current, 5n);
    await catchUp(current, 5n);
    return seen;
  }
  const { simulated, real } = await inBoth(live);
  expect(simulated).toEqual(real);
  const [answers, gates] = [0, 2].map((which) => (real as unknown[]).filter((_, nth) => nth % 3 === which));
  expect(answers).toEqual([[], [], [], [{ was: 0 }], []]);
  // A router that is waited for has its time from then on.
  const [before, after] = [true, false].map((isLong) => [
    [true, true],
    [false, isLong],
  ]);
  expect(gates).toEqual([before, before, before, after, after]);
});

/** How often reports were answered in which way, over all seeds. */
const gates = { open: 0, stranger: 0, waiting: 0 };

it.each([1, 2, 3, 4, 5, 6, 7, 8])('moves the gates by random reports as Postgres does: %i', async (seed) => {
  await ledger.db.router.deleteMany();
  await ledger.db.redisServer.deleteMany();
  await ledger.db.$executeRaw`UPDATE recovery SET heard_at = clock_timestamp(), listening_since = clock_timestamp()`;
  async function live({ db, timeline, pass }: Place): Promise<unknown[]> {
    const share = seededRandom(seed);
    const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
    await db.query(statements.catchUp(timeline, []));
    const reportRouter = createReportRouter({ db, log: silentLog });
    /** Every mark told, in the order of its coming: the marks themselves are by chance. */
    const marks: string[] = [];
    const nthOf = (mark: string | null): number | null => {
      if (mark === null) return null;
      if (!marks.includes(mark)) marks.push(mark);
      return marks.indexOf(mark);
    };
    const seen: unknown[] = [];
    for (let nth = 0; nth < 250; nth += 1) {
      if (share() < 0.15) await pass(10);
      const { mark, ...answer } = await reportRouter({
        routerId: pick(['r1', 'r2', 'r3']),
        shard: pick(['0-9', '0-9', '0-9', '0-8']),
        redisId: pick(['a', 'a', 'a', 'b', null]),
        putBackMark: share() < 0.75 ? pick([...marks.slice(-2), null]) : null,
        missingMark: share() < 0.1 ? pick([...marks.slice(-2), null]) : null,
      });
      seen.push({ ...answer, mark: nthOf(mark) });
      if (answer.isOpen) gates.open += 1;
      else if (answer.isStranger) gates.stranger += 1;
      else if (answer.waitsFor.length > 0) gates.waiting += 1;
    }
    return seen;
  }
  const { simulated, real } = await inBoth(live);
  expect(simulated).toEqual(real);
});

it('has seen gates open, strangers, and routers that are waited for', () => {
  for (const count of Object.values(gates)) expect(count).toBeGreaterThan(100);
});

it('lacks its last commits after a failover, and has those before, and writes another timeline', async () => {
  const world = new World(1);
  const database = new SimulatedDatabase(world);
  const db = database.asDb();
  const call = aUsageRecorded({ workspaceId: 'w1', chargeNanoUsd: 3n });
  await world.run(async () => {
    await addCredit(db, { creditId: 'c1', workspaceId: 'w1', amountNanoUsd: 10n, note: '' });
    for (const credit of ['c2', 'c3'])
      await db.transaction(async (tx) => {
        await recordUsage(tx, credit, [call]);
        await tx.execute(statements.addCredit({ creditId: credit, workspaceId: 'w1', amountNanoUsd: 100n, note: '' }));
      });
    expect(database.failOver(1)).toBe(1);
    const question = { workspaceId: 'w1', month: '2026-11', keyIds: [], callIds: [call.callId] };
    await expect(absorb(db, [question])).rejects.toMatchObject({ fault: { kind: 'balances_catching_up' } });
    await db.query(statements.catchUp(2, []));
    expect(await absorb(db, [question])).toMatchObject({
      timeline: 2,
      workspaces: [{ seq: 3, leftNanoUsd: 107n, finalCallIds: [call.callId] }],
    });
    expect(database.failOver(2)).toBe(2);
    expect(await absorb(db, [question]).catch((error: Error) => error.message)).toMatch('balances_catching_up');
    await db.query(statements.catchUp(3, []));
    expect(await absorb(db, [question])).toMatchObject({
      workspaces: [{ seq: 1, leftNanoUsd: 10n, finalCallIds: [] }],
    });
  }, 60_000);
});
