import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openStoppedLedger, type StoppedLedger } from '../../test/openStoppedLedger.ts';
import { silentLog } from '../../test/openTestLedger.ts';
import { readRecoveryState } from './describeRecovery.ts';
import { createReportRouter, type GateAnswer, type RouterReport } from './reportRouter.ts';

const [REDIS_A, REDIS_B] = ['a'.repeat(40), 'b'.repeat(40)] as const;

let ledger: StoppedLedger;
let report: (routerId: string, fields?: Partial<RouterReport>) => Promise<GateAnswer>;
beforeAll(async () => {
  ledger = await openStoppedLedger();
});
afterAll(() => ledger.close());
beforeEach(async () => {
  await ledger.db.router.deleteMany();
  await ledger.db.redisServer.deleteMany();
  await ledger.db
    .$executeRaw`UPDATE recovery SET heard_at = clock_timestamp(), listening_since = clock_timestamp() - interval '1 day',
      timeline = current_timeline()`;
  const reportRouter = createReportRouter({ db: ledger.db, log: silentLog });
  report = (routerId, fields = {}) =>
    reportRouter({ routerId, shard: '0-16383', redisId: REDIS_A, putBackMark: null, missingMark: null, ...fields });
});

/** Everything that is known has been so for longer; whoever reported is heard all the same. */
const pass = (seconds: number): Promise<unknown> =>
  ledger.db.$transaction([
    ledger.db.$executeRaw`UPDATE router SET behind_since = behind_since - make_interval(secs => ${seconds})`,
    ledger.db.$executeRaw`UPDATE redis_server SET raised_at = raised_at - make_interval(secs => ${seconds}),
      opened_at = opened_at - make_interval(secs => ${seconds})`,
  ]);
const silence = (routerId: string, seconds: number): Promise<unknown> =>
  ledger.db
    .$executeRaw`UPDATE router SET heard_at = heard_at - make_interval(secs => ${seconds}) WHERE router_id = ${routerId}`;

const standing = () => readRecoveryState(ledger.db);
/** Each router's state, for how many whole seconds, and whether that is too long. */
async function routersNow() {
  const { routers } = await standing();
  return Object.fromEntries(
    routers.map(({ routerId, state, lackingMs, isOverdue }) => [
      routerId,
      [state, Math.floor(lackingMs / 1_000), isOverdue],
    ]),
  );
}

async function anOpenGate(routerIds: string[], redisId: string = REDIS_A): Promise<string> {
  const { mark } = await report(routerIds[0] ?? '', { redisId });
  if (mark === null) throw new Error('no mark');
  for (const routerId of routerIds) await report(routerId, { redisId, putBackMark: mark });
  return mark;
}

it('knows of no router: whether anybody admits calls cannot be said', async () => {
  expect(await standing()).toMatchObject({ gates: [], routers: [], closedMs: null });
});

it('says which process is behind each report, where the process says so', async () => {
  await report('r1', { process: { service: 'media-jobs', host: 'media-7' } });
  await report('r2');
  const { routers } = await standing();
  expect(routers.map(({ routerId, service, host }) => [routerId, service, host])).toEqual([
    ['r1', 'media-jobs', 'media-7'],
    ['r2', null, null],
  ]);
});

it('says that all is well once all have put back, and since when the gate is open', async () => {
  const mark = await anOpenGate(['r1', 'r2']);
  await pass(7);
  const { gates, closedMs } = await standing();
  expect(closedMs).toBe(0);
  expect(gates).toEqual([
    { shard: '0-16383', redisId: REDIS_A, mark, isOpen: true, forMs: expect.any(Number), seenBy: 2, waitsFor: [] },
  ]);
  expect(Math.floor((gates[0]?.forMs ?? 0) / 1_000)).toBe(7);
  expect(await routersNow()).toEqual({ r1: ['admits', 0, false], r2: ['admits', 0, false] });
});

it('names who has not put back into a new Redis, for how long, and from 3 s on as overdue', async () => {
  const { mark } = await report('r1');
  await report('r2');
  await report('r1', { putBackMark: mark });
  await pass(2);
  expect(await routersNow()).toEqual({ r1: ['waits', 2, false], r2: ['has_not_put_back', 2, false] });
  expect(await standing()).toMatchObject({ gates: [{ isOpen: false, seenBy: 2, waitsFor: ['r2'] }] });
  expect(Math.floor(((await standing()).closedMs ?? 0) / 1_000)).toBe(2);
  await pass(3);
  expect(await routersNow()).toMatchObject({ r1: ['waits', 5, false], r2: ['has_not_put_back', 5, true] });
});

it('counts what a router lacks from before it saw another Redis, and what it may take from when that was seen', async () => {
  await anOpenGate(['r1']);
  await report('r1', { redisId: null });
  await pass(60);
  expect(await routersNow()).toEqual({ r1: ['sees_no_redis', 60, true] });
  await report('r1', { redisId: REDIS_B });
  expect(await routersNow()).toEqual({ r1: ['has_not_put_back', 60, false] });
  expect(Math.floor(((await standing()).closedMs ?? 0) / 1_000)).toBe(60);
});

it('tells a router that is fenced, beside others that admit, and one that only begins', async () => {
  const mark = await anOpenGate(['r1']);
  await report('r2');
  await pass(10);
  await report('r3');
  await report('r1', { putBackMark: mark });
  expect(await routersNow()).toEqual({
    r1: ['admits', 0, false],
    r2: ['has_not_put_back', 10, true],
    r3: ['has_not_put_back', 0, false],
  });
  expect(await standing()).toMatchObject({ closedMs: 0, gates: [{ isOpen: true, waitsFor: ['r2', 'r3'] }] });
});

it('tells a router that sees another Redis than the region counts in', async () => {
  await anOpenGate(['r1', 'r2']);
  await report('r3', { redisId: REDIS_B });
  await pass(5);
  expect(await routersNow()).toMatchObject({ r1: ['admits', 0, false], r3: ['is_stranger', 5, true] });
  expect((await standing()).gates.map(({ redisId, isOpen }) => [redisId, isOpen])).toEqual([
    [REDIS_A, true],
    [REDIS_B, false],
  ]);
});

it('waits no more for a router that is silent, and says for how long it has been', async () => {
  const mark = await anOpenGate(['r1', 'r2']);
  await silence('r2', 30);
  await report('r1', { putBackMark: mark });
  expect(await routersNow()).toEqual({ r1: ['admits', 0, false], r2: ['is_silent', 30, false] });
  await silence('r1', 30);
  expect(await standing()).toMatchObject({ closedMs: null });
});

it('forgets what a router lacked once it has put back', async () => {
  const { mark } = await report('r1');
  await pass(20);
  await report('r1', { putBackMark: mark });
  expect(await routersNow()).toEqual({ r1: ['admits', 0, false] });
  await report('r1');
  expect(await routersNow()).toEqual({ r1: ['has_not_put_back', 0, false] });
});

it('tells each shard by itself, is closed while one of them is, and drops one that nobody speaks of any more', async () => {
  const [low, high] = [{ shard: '0-99' }, { shard: '100-16383', redisId: REDIS_B }];
  const { mark } = await report('r1', low);
  await report('r1', { ...low, putBackMark: mark });
  await report('r1', high);
  await pass(3);
  const { gates, routers, closedMs } = await standing();
  expect(gates.map(({ shard, isOpen }) => [shard, isOpen])).toEqual([
    ['0-99', true],
    ['100-16383', false],
  ]);
  expect(routers).toMatchObject([
    { shard: '0-99', routerId: 'r1', state: 'admits', isShardClosed: false },
    { shard: '100-16383', routerId: 'r1', state: 'has_not_put_back', isShardClosed: true },
  ]);
  expect(closedMs).toBeGreaterThanOrEqual(3_000);
  await ledger.db.$executeRaw`UPDATE router SET heard_at = heard_at - interval '10 seconds' WHERE shard = '100-16383'`;
  expect(await standing()).toMatchObject({ routers: [{ shard: '0-99' }], closedMs: 0 });
});
