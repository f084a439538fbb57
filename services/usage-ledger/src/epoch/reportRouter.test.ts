import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import type { RouterReport } from './advanceEpoch.ts';
import { areBalancesReady } from './areBalancesReady.ts';
import { reportRouter } from './reportRouter.ts';

const [REDIS_A, REDIS_B] = ['a'.repeat(40), 'b'.repeat(40)];

let ledger: TestLedger;
let lag: bigint;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());
beforeEach(async () => {
  lag = 0n;
  await ledger.db.router.deleteMany();
  await ledger.db.redisEpoch.updateMany({ data: { number: 7, redisId: REDIS_A, phase: 'open' } });
});

const report = (routerId: string, fields: Partial<RouterReport> = {}) =>
  reportRouter(
    { db: ledger.db, consumer: { lag: async () => lag } },
    {
      routerId,
      processId: `${routerId}-1`,
      redisId: REDIS_A,
      knownEpoch: 7,
      drainedEpoch: null,
      assertedEpoch: null,
      isBlank: true,
      missesCalls: false,
      ...fields,
    },
  );
const seeB = { redisId: REDIS_B, isBlank: false };

/** Time passes for everybody who does not report. */
const silence = (seconds: number): Promise<unknown> =>
  ledger.db.$transaction([
    ledger.db.$executeRaw`UPDATE router SET heard_at = heard_at - make_interval(secs => ${seconds})`,
    ledger.db
      .$executeRaw`UPDATE redis_epoch SET listening_since = listening_since - make_interval(secs => ${seconds + 60})`,
  ]);

it('lets a router with nothing to bring join the epoch in force', async () => {
  expect(await report('r1', { knownEpoch: null })).toMatchObject({ number: 7, phase: 'open', isMember: true });
});

it('is raised once by another Redis, however many routers say so at once, and only by those who know the epoch', async () => {
  expect(await report('r0', { ...seeB, knownEpoch: null })).toMatchObject({ number: 7, isMember: false });
  const answers = await Promise.all(['r1', 'r2', 'r3'].map((routerId) => report(routerId, seeB)));
  expect(answers.map(({ number }) => number)).toEqual([8, 8, 8]);
  expect(await report('r4', seeB)).toMatchObject({ number: 8, redisId: REDIS_B, phase: 'draining', isMember: false });
});

it('waits for every router and for the log at the first barrier, for every router at the second', async () => {
  await Promise.all(['r1', 'r2'].map((routerId) => report(routerId)));
  const inEight = { ...seeB, knownEpoch: 8 };
  await report('r1', seeB);
  lag = 3n;
  expect(await report('r1', { ...inEight, drainedEpoch: 8 })).toMatchObject({ phase: 'draining' });
  expect(await report('r2', { ...inEight, drainedEpoch: 8 })).toMatchObject({ phase: 'draining' });
  expect(await areBalancesReady(ledger.db, 8)).toBe(false);
  lag = 0n;
  expect(await report('r1', { ...inEight, drainedEpoch: 8 })).toMatchObject({ phase: 'asserting' });
  expect(await areBalancesReady(ledger.db, 8)).toBe(true);
  expect(await areBalancesReady(ledger.db, 7)).toBe(false);
  expect(await report('r1', { ...inEight, assertedEpoch: 8 })).toMatchObject({ phase: 'asserting', isMember: true });
  expect(await report('r2', { ...inEight, assertedEpoch: 8 })).toMatchObject({ phase: 'open', isMember: true });
});

it('waits for a router that is silent for 8 s, and not for one that is for 16', async () => {
  await Promise.all(['r1', 'r2'].map((routerId) => report(routerId)));
  await report('r1', seeB);
  const drained = { ...seeB, knownEpoch: 8, drainedEpoch: 8 };
  await silence(8);
  expect(await report('r1', drained)).toMatchObject({ phase: 'draining' });
  await silence(8);
  expect(await report('r1', drained)).toMatchObject({ phase: 'asserting' });
});

it('gives up nobody for the time in which it could itself not be reached', async () => {
  await Promise.all(['r1', 'r2'].map((routerId) => report(routerId)));
  await silence(100);
  await ledger.db.$executeRaw`UPDATE redis_epoch SET heard_at = heard_at - interval '100 seconds'`;
  await report('r1', seeB);
  expect(await report('r1', { ...seeB, knownEpoch: 8, drainedEpoch: 8 })).toMatchObject({ phase: 'draining' });
});

/** Routers that died without leaving, so many minutes ago. */
const dead = (count: number, minutesAgo: number) =>
  ledger.db.$executeRaw`
    INSERT INTO router (router_id, process_id, heard_at, is_expired)
    SELECT 'dead-' || ${minutesAgo}::text || '-' || n, 'p', now() - make_interval(mins => ${minutesAgo}), true
    FROM generate_series(1, ${count}) n`;
const writerOf = (routerId: string) =>
  ledger.db.$queryRaw<unknown[]>`SELECT xmin::text FROM router WHERE router_id = ${routerId}`;
/** The transaction that wrote each row last. */
const writersOfDead = () =>
  ledger.db.$queryRaw<unknown[]>`
    SELECT router_id, xmin::text FROM router WHERE router_id LIKE 'dead-%' ORDER BY router_id`;

it('writes no row of the dead again when a router reports, and one that dies once', async () => {
  await dead(100, 30);
  await report('r1');
  await report('r2');
  await silence(16);
  const [before, known] = [await writersOfDead(), await ledger.db.router.count()];
  expect([before.length, known]).toEqual([100, 102]);

  await report('r2');
  expect(await ledger.db.router.findMany({ where: { routerId: 'r1' } })).toMatchObject([{ isExpired: true }]);
  const [expired] = await writerOf('r1');
  await report('r2');
  expect(await writersOfDead()).toEqual(before);
  expect(await writerOf('r1')).toEqual([expired]);
});

it('forgets the dead after an hour, in which it could be heard', async () => {
  await dead(100, 61);
  await dead(1, 59);
  await ledger.db.$executeRaw`UPDATE redis_epoch SET listening_since = now() - interval '59 minutes', heard_at = now()`;
  await report('r1');
  expect(await ledger.db.router.count()).toBe(102);
  await ledger.db.$executeRaw`UPDATE redis_epoch SET listening_since = now() - interval '2 hours', heard_at = now()`;
  await report('r1');
  expect((await ledger.db.router.findMany()).map(({ routerId }) => routerId).sort()).toEqual(['dead-59-1', 'r1']);
});

it.each<[string, Partial<RouterReport>]>([
  ['that comes late and has something to bring', { isBlank: false }],
  ['that knows a later epoch, as after a restored backup', { knownEpoch: 9 }],
])('is raised with the same Redis by a router %s', async (_who, fields) => {
  await report('r1');
  const raised = (fields.knownEpoch ?? 7) + 1;
  expect(await report('r2', fields)).toMatchObject({ number: raised, redisId: REDIS_A, phase: 'draining' });
});

it('is raised by a member whose calls Redis does not know', async () => {
  await report('r1');
  expect(await report('r1', { missesCalls: true, isBlank: false })).toMatchObject({ number: 8, phase: 'draining' });
});

it('is raised by one that has drained and finds Redis emptied before it has asserted', async () => {
  await Promise.all(['r1', 'r2'].map((routerId) => report(routerId)));
  const inEight = { ...seeB, knownEpoch: 8 };
  await report('r1', seeB);
  await report('r2', { ...inEight, drainedEpoch: 8 });
  const drained = { ...inEight, drainedEpoch: 8 };
  expect(await report('r1', drained)).toMatchObject({ number: 8, phase: 'asserting' });
  expect(await report('r1', { ...drained, missesCalls: true })).toMatchObject({ number: 9, phase: 'draining' });
  // Told late, of the epoch that was given up for it.
  expect(await report('r2', { ...drained, missesCalls: true })).toMatchObject({ number: 9, phase: 'draining' });
});

it('knows a router that was restarted: in an open epoch it goes on, in one that is built it has yet to drain', async () => {
  await report('r1');
  expect(await report('r1', { processId: 'r1-2', isBlank: false })).toMatchObject({ number: 7, isMember: true });
  await report('r2');
  await report('r1', { ...seeB, processId: 'r1-2' });
  const inEight = { ...seeB, knownEpoch: 8 };
  await report('r1', { ...inEight, processId: 'r1-2', drainedEpoch: 8 });
  await report('r1', { ...inEight, processId: 'r1-3' });
  expect(await report('r2', { ...inEight, drainedEpoch: 8 })).toMatchObject({ phase: 'draining' });
});
