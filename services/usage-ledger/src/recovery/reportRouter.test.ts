import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { openStoppedLedger, type StoppedLedger } from '../../test/openStoppedLedger.ts';
import { createReportRouter, forgetSilent, type GateAnswer, type RouterReport } from './reportRouter.ts';

const [REDIS_A, REDIS_B, REDIS_C] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];
const ALL = '0-16383';

let ledger: StoppedLedger;
let logged: { level: string; message: string; [field: string]: unknown }[];
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
  logged = [];
  const at = (level: string) => (fields: unknown, message?: string) =>
    void logged.push({ level, message: String(message), ...(fields as object) });
  const reportRouter = createReportRouter({
    db: ledger.db,
    log: { info: at('info'), warn: at('warn'), error: at('error') },
  });
  report = (routerId, fields = {}) =>
    reportRouter({ routerId, shard: ALL, redisId: REDIS_A, putBackMark: null, missingMark: null, ...fields });
});

afterEach(() => void jest.restoreAllMocks());

/** A region whose gate is open on a Redis, all routers having put back there; its mark. */
async function anOpenGate(routerIds: string[], redisId = REDIS_A): Promise<string> {
  const { mark } = await report(routerIds[0] ?? 'r1', { redisId });
  if (mark === null) throw new Error('no mark');
  let isOpen = false;
  for (const routerId of routerIds) ({ isOpen } = await report(routerId, { redisId, putBackMark: mark }));
  expect(isOpen).toBe(true);
  logged = [];
  return mark;
}

/** Time passes for all who do not report meanwhile, and somebody else does. */
const silence = (seconds: number): Promise<unknown> =>
  ledger.db.$transaction([
    ledger.db.$executeRaw`UPDATE router SET heard_at = heard_at - make_interval(secs => ${seconds})`,
    ledger.db.$executeRaw`UPDATE redis_server SET raised_at = raised_at - make_interval(secs => ${seconds})`,
  ]);

it('opens the gate on a new Redis once every router has put back under its mark, and says who is waited for', async () => {
  const first = await report('r1');
  expect(first).toEqual({
    redisId: REDIS_A,
    mark: expect.stringMatching(/^[0-9a-f-]{36}$/),
    isToBeSet: true,
    isOpen: false,
    isStranger: false,
    waitsFor: ['r1'],
  });
  const { mark } = first;
  expect(await report('r2')).toMatchObject({ mark, isOpen: false, waitsFor: ['r1', 'r2'] });
  expect(await report('r1', { putBackMark: mark })).toMatchObject({ isOpen: false, waitsFor: ['r2'] });
  expect(await report('r2', { putBackMark: mark })).toMatchObject({ mark, isOpen: true, waitsFor: [] });
  expect(await report('r1', { putBackMark: mark })).toMatchObject({ isOpen: true });
  expect(logged).toEqual([
    {
      level: 'warn',
      message: expect.stringMatching('closed on a new Redis'),
      shard: ALL,
      redisId: REDIS_A,
      waitsFor: ['r1'],
    },
    { level: 'info', message: 'the gate is open', shard: ALL, redisId: REDIS_A },
  ]);
});

it('takes a Redis once, and opens it once, however many routers report at once', async () => {
  const routers = Array.from({ length: 12 }, (_, n) => `r${n}`);
  const answers = await Promise.all(routers.map((routerId) => report(routerId)));
  const marks = answers.map(({ mark }) => mark);
  expect(answers.filter(({ isToBeSet }) => isToBeSet)).toHaveLength(1);
  expect(new Set(marks).size).toBe(1);
  const [mark = null] = marks;
  await Promise.all(routers.map((routerId) => report(routerId, { putBackMark: mark })));
  expect(await report('r0', { putBackMark: mark })).toMatchObject({ isOpen: true });
  expect(logged.map(({ level }) => level)).toEqual(['warn', 'info']);
});

it('lets one that comes later join an open gate, and one that sees no Redis wait for one', async () => {
  const mark = await anOpenGate(['r1']);
  expect(await report('r2')).toMatchObject({ mark, isOpen: true, waitsFor: [] });
  expect(await report('r3', { redisId: null })).toEqual({
    redisId: null,
    mark: null,
    isToBeSet: false,
    isOpen: false,
    isStranger: false,
    waitsFor: [],
  });
});

it('waits for a router that sees no Redis, for 3 s', async () => {
  await anOpenGate(['r1', 'r2']);
  const { mark } = await report('r1', { redisId: REDIS_B });
  await report('r2', { redisId: null });
  const putBack = { redisId: REDIS_B, putBackMark: mark };
  expect(await report('r1', putBack)).toMatchObject({ isOpen: false, waitsFor: ['r2'] });
  await silence(3);
  await report('r2', { redisId: null });
  expect(await report('r1', putBack)).toMatchObject({ isOpen: true });
  expect(logged.at(-1)).toMatchObject({ level: 'warn', fenced: ['r2'] });
});

it('waits for a router that is silent for 2 s, and not for one that is for 4', async () => {
  await anOpenGate(['r1', 'r2']);
  await silence(2);
  const { mark } = await report('r1', { redisId: REDIS_B });
  const putBack = { redisId: REDIS_B, putBackMark: mark };
  expect(await report('r1', putBack)).toMatchObject({ isOpen: false, waitsFor: ['r2'] });
  await ledger.db.$executeRaw`UPDATE router SET heard_at = heard_at - interval '2 seconds' WHERE router_id = 'r2'`;
  expect(await report('r1', putBack)).toMatchObject({ isOpen: true });
});

it.each([1, 2, 3, 4, 5, 100])('gives up nobody for %i s in which it could itself not be reached', async (seconds) => {
  const old = await anOpenGate(['r1', 'r2']);
  await ledger.pass(0.9);
  await report('r1', { putBackMark: old });
  await ledger.pass(seconds);
  const { mark } = await report('r1', { redisId: REDIS_B });
  expect(await report('r1', { redisId: REDIS_B, putBackMark: mark })).toMatchObject({
    isOpen: false,
    waitsFor: ['r2'],
  });
});

it('closes the gate and gives another mark where Redis was emptied, once for all who miss the old one', async () => {
  const old = await anOpenGate(['r1', 'r2', 'r3']);
  const missing = { putBackMark: old, missingMark: old };
  const answers = await Promise.all(['r1', 'r2', 'r3'].map((routerId) => report(routerId, missing)));
  const { mark } = await report('r1');
  expect(mark).not.toBe(old);
  expect(answers).toEqual(Array(3).fill(expect.objectContaining({ mark, isOpen: false })));
  expect(answers.filter(({ isToBeSet }) => isToBeSet)).toHaveLength(1);
  expect(logged).toEqual([expect.objectContaining({ level: 'warn', message: expect.stringMatching('was emptied') })]);
  for (const routerId of ['r1', 'r2'])
    expect(await report(routerId, { putBackMark: mark })).toMatchObject({ isOpen: false });
  expect(await report('r3', { putBackMark: mark, missingMark: old })).toMatchObject({ isOpen: true });
});

it('keeps a stranger out and the region open, and tells of it once', async () => {
  const mark = await anOpenGate(['r1', 'r2']);
  const stranger = await report('r3', { redisId: REDIS_B });
  expect(stranger).toMatchObject({ isOpen: false, isStranger: true });
  const inB = { redisId: REDIS_B, putBackMark: stranger.mark };
  for (let seconds = 0; seconds < 20; seconds += 2) {
    await silence(2);
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + 2_000);
    for (const routerId of ['r1', 'r2'])
      expect(await report(routerId, { putBackMark: mark })).toMatchObject({ isOpen: true });
    expect(await report('r3', inB)).toMatchObject({ isOpen: false, isStranger: true });
  }
  expect(logged.filter(({ level }) => level === 'error')).toEqual([
    expect.objectContaining({ redisId: REDIS_B, routerId: 'r3', message: expect.stringMatching('ALERT') }),
  ]);
  // The router empties its own Redis again and again, which changes no other Redis.
  expect(await report('r3', { ...inB, missingMark: stranger.mark })).toMatchObject({ isOpen: false, isStranger: true });
  expect(await report('r1', { putBackMark: mark })).toMatchObject({ isOpen: true });
});

it('gives the others their time where a stranger’s Redis is the only one left', async () => {
  await anOpenGate(['r1', 'r2']);
  const { mark } = await report('r3', { redisId: REDIS_B });
  await silence(2);
  await report('r3', { redisId: REDIS_B });
  for (const routerId of ['r1', 'r2']) await report(routerId, { redisId: null });
  const inB = { redisId: REDIS_B, putBackMark: mark };
  expect(await report('r3', inB)).toMatchObject({ isOpen: false, isStranger: false, waitsFor: ['r1', 'r2'] });
  await silence(2);
  for (const routerId of ['r1', 'r2']) await report(routerId, { redisId: null });
  expect(await report('r3', inB)).toMatchObject({ isOpen: false });
  await silence(2);
  for (const routerId of ['r1', 'r2']) await report(routerId, { redisId: null });
  expect(await report('r3', inB)).toMatchObject({ isOpen: true });
});

it('goes over to the Redis that most routers see, and one that holds on to the old one is left behind', async () => {
  const old = await anOpenGate(['r1', 'r2', 'r3']);
  const { mark } = await report('r1', { redisId: REDIS_B });
  const inB = { redisId: REDIS_B, putBackMark: mark };
  for (const routerId of ['r1', 'r2']) expect(await report(routerId, inB)).toMatchObject({ isStranger: true });
  await silence(2);
  expect(await report('r3', { putBackMark: old })).toMatchObject({ isOpen: true });
  // Closed there, so that nobody counts in two; it is given the time to hear of it.
  const taken = await report('r1', inB);
  expect(taken).toMatchObject({ isOpen: false, isStranger: false, isToBeSet: true });
  // A mark that may have been put there before counts for nothing.
  expect(taken.mark).not.toBe(mark);
  inB.putBackMark = taken.mark;
  await report('r1', inB);
  expect(await report('r2', inB)).toMatchObject({ isOpen: false, isStranger: false, waitsFor: ['r3'] });
  const left = await report('r3', { putBackMark: old });
  expect(left).toMatchObject({ isOpen: false });
  expect(left.mark).not.toBe(old);
  await silence(2);
  const inA = { putBackMark: left.mark };
  expect(await report('r3', inA)).toMatchObject({ isOpen: false });
  await report('r1', inB);
  expect(await report('r2', inB)).toMatchObject({ isOpen: true });
  expect(await report('r3', inA)).toMatchObject({ isOpen: false, isStranger: true });
});

it('gives those who counted in a Redis that is emptied the time to hear of it, before another one opens', async () => {
  const mark = await anOpenGate(['r1', 'r2']);
  const { mark: markB } = await report('r3', { redisId: REDIS_B });
  const inB = { redisId: REDIS_B, putBackMark: markB };
  expect(await report('r3', inB)).toMatchObject({ isStranger: true });
  await silence(4);
  for (const routerId of ['r1', 'r2']) await report(routerId, { putBackMark: mark });
  const emptied = await report('r1', { missingMark: mark });
  expect(emptied).toMatchObject({ isOpen: false, isToBeSet: true });
  // No router has put back into the Redis that most see, yet.
  expect(await report('r3', inB)).toMatchObject({ isOpen: false, waitsFor: ['r1', 'r2'] });
  for (const routerId of ['r1', 'r2']) await report(routerId, { putBackMark: emptied.mark });
  await silence(3);
  for (const routerId of ['r1', 'r2']) await report(routerId, { putBackMark: emptied.mark });
  expect(await report('r3', inB)).toMatchObject({ isOpen: false, isStranger: true });
  expect(await report('r1', { putBackMark: emptied.mark })).toMatchObject({ isOpen: true });
});

it('gives those who count in a Redis that is lost as soon as it has opened the time to hear of it, before another one opens', async () => {
  const { mark } = await report('r1', { redisId: REDIS_B });
  const { mark: markC } = await report('r3', { redisId: REDIS_C });
  const [inB, inC] = [
    { redisId: REDIS_B, putBackMark: mark },
    { redisId: REDIS_C, putBackMark: markC },
  ];
  await silence(2);
  await report('r2', inB);
  expect(await report('r3', inC)).toMatchObject({ isOpen: false });
  await silence(1);
  expect(await report('r1', inB)).toMatchObject({ isOpen: true });
  const loseIt = async (): Promise<void> => {
    for (const routerId of ['r1', 'r2']) await report(routerId, { redisId: null });
  };
  await loseIt();
  expect(await report('r3', inC)).toMatchObject({ isOpen: false, isStranger: false, waitsFor: ['r1', 'r2'] });
  await silence(2);
  await loseIt();
  expect(await report('r3', inC)).toMatchObject({ isOpen: true });
});

it('does not open an old Redis again that somebody sees after another was opened', async () => {
  const old = await anOpenGate(['r1', 'r2']);
  const { mark } = await report('r1', { redisId: REDIS_B });
  await report('r2', { redisId: REDIS_B, putBackMark: mark });
  expect(await report('r1', { redisId: REDIS_B, putBackMark: mark })).toMatchObject({ isOpen: true });
  const back = await report('r2', { putBackMark: old });
  expect(back).toMatchObject({ isOpen: false, isStranger: true });
  expect(back.mark).not.toBe(old);
});

it.each([
  ['one after the other, the fewer first', ['r1', 'r2', 'r3']],
  ['one after the other, the fewer between', ['r2', 'r1', 'r3']],
  ['one after the other, the fewer last', ['r3', 'r2', 'r1']],
  ['at once', undefined],
])('opens one of two new ones, what more routers see: they report %s', async (_how, order) => {
  const { mark: markB } = await report('r1', { redisId: REDIS_B });
  const { mark: markC } = await report('r2', { redisId: REDIS_C });
  const [inB, inC] = [
    { redisId: REDIS_B, putBackMark: markB },
    { redisId: REDIS_C, putBackMark: markC },
  ];
  const reportAs = (routerId: string) => report(routerId, routerId === 'r1' ? inB : inC);
  async function reportAll(): Promise<void> {
    if (!order) await Promise.all(['r1', 'r2', 'r3'].map(reportAs));
    else for (const routerId of order) await reportAs(routerId);
  }
  await reportAll();
  await silence(2);
  await reportAll();
  for (const routerId of ['r1', 'r2'])
    expect(await reportAs(routerId)).toMatchObject({ isOpen: false, isStranger: false });
  await silence(2);
  await reportAll();
  expect(await reportAs('r1')).toMatchObject({ isOpen: false });
  expect(await reportAs('r2')).toMatchObject({ isOpen: true });
  expect(logged.filter(({ message }) => message.startsWith('the gate is open'))).toEqual([
    expect.objectContaining({ redisId: REDIS_C, fenced: ['r1'] }),
  ]);
});

it('waits for no other report while the gate is open', async () => {
  const mark = await anOpenGate(['r1', 'r2']);
  await ledger.db.$executeRaw`UPDATE recovery SET heard_at = heard_at - interval '4 seconds'`;
  await ledger.db.$executeRaw`UPDATE redis_server SET seen_at = seen_at - interval '1 hour'`;
  await ledger.db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT FROM recovery FOR UPDATE`;
    await tx.$queryRaw`SELECT FROM redis_server FOR UPDATE`;
    await tx.$queryRaw`SELECT FROM router WHERE router_id = 'r2' FOR UPDATE`;
    expect(await report('r1', { putBackMark: mark })).toMatchObject({ isOpen: true });
  });
  await report('r1', { putBackMark: mark });
  const [{ heardAgo = 99, seenAgo = 99 } = {}] = await ledger.db.$queryRaw<{ heardAgo: number; seenAgo: number }[]>`
    SELECT extract(epoch FROM clock_timestamp() - recovery.heard_at)::FLOAT AS "heardAgo",
      extract(epoch FROM clock_timestamp() - seen_at)::FLOAT AS "seenAgo" FROM recovery, redis_server`;
  expect(heardAgo).toBeLessThan(3);
  expect(seenAgo).toBeLessThan(3);
});

it('writes no row that all share for each of many reports', async () => {
  const mark = await anOpenGate(['r1']);
  const writers = async () =>
    (
      await ledger.db.$queryRaw<
        { xmin: string }[]
      >`SELECT xmin::TEXT FROM recovery UNION ALL SELECT xmin::TEXT FROM redis_server`
    ).map(({ xmin }) => xmin);
  const seen = new Set<string>();
  for (let nth = 0; nth < 60; nth += 1) {
    await ledger.pass(0.01);
    await report(`r${nth % 6}`, { putBackMark: mark });
    for (const xmin of await writers()) seen.add(xmin);
  }
  // Two rows, and one of them again after half a second.
  expect(seen.size).toBe(3);
});

it('forgets routers after an hour of silence, and a Redis after a day', async () => {
  await anOpenGate(['r1', 'r2']);
  await report('r3', { redisId: REDIS_B });
  await ledger.db.$executeRaw`UPDATE router SET heard_at = heard_at - interval '61 minutes' WHERE router_id <> 'r1'`;
  await ledger.db
    .$executeRaw`UPDATE redis_server SET seen_at = seen_at - interval '25 hours' WHERE redis_id = ${REDIS_B}`;
  await forgetSilent(ledger.db);
  expect((await ledger.db.router.findMany()).map(({ routerId }) => routerId)).toEqual(['r1']);
  expect((await ledger.db.redisServer.findMany()).map(({ redisId }) => redisId)).toEqual([REDIS_A]);
});

it('keeps a gate for each shard: one that is closed, or sees another Redis, closes no other', async () => {
  const [low, high] = [{ shard: '0-99' }, { shard: '100-16383', redisId: REDIS_B }];
  const { mark: lowMark } = await report('r1', low);
  const { mark: highMark } = await report('r1', high);
  expect(await report('r1', { ...low, putBackMark: lowMark })).toMatchObject({ isOpen: true });
  expect(await report('r1', { ...high, putBackMark: highMark })).toMatchObject({ isOpen: true });
  const { mark } = await report('r1', { ...high, redisId: REDIS_C });
  expect(await report('r1', { ...high, redisId: REDIS_C, putBackMark: mark })).toMatchObject({ isOpen: true });
  expect(await report('r1', { ...low, putBackMark: lowMark })).toMatchObject({ mark: lowMark, isOpen: true });
  expect(await report('r1', { ...low, missingMark: lowMark })).toMatchObject({ isOpen: false });
  expect(await report('r1', { ...high, redisId: REDIS_C, putBackMark: mark })).toMatchObject({ mark, isOpen: true });
});

it('waits for every router that is heard, of whatever shard', async () => {
  await anOpenGate(['r1', 'r2']);
  const other = { shard: '0-99', redisId: REDIS_B };
  const { mark } = await report('r1', other);
  expect(await report('r1', { ...other, putBackMark: mark })).toMatchObject({ isOpen: false, waitsFor: ['r2'] });
  expect(await report('r2', { ...other, putBackMark: mark })).toMatchObject({ isOpen: true });
});

it('gives a Redis that serves other slots now another mark, and takes back the one that it had', async () => {
  const before = await anOpenGate(['r1']);
  const now = { shard: '0-16382' };
  const { mark } = await report('r1', now);
  expect(mark).not.toBe(before);
  expect(await report('r1', { ...now, putBackMark: mark })).toMatchObject({ isOpen: true });
  const again = await report('r1', { putBackMark: before });
  expect(again).toMatchObject({ isOpen: false, waitsFor: ['r1'] });
  expect(again.mark).not.toBe(before);
});
