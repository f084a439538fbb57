import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { headOf } from '../../test/headOf.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { toAbsorb } from '../../test/toAbsorb.ts';
import { defineScript, readScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';

// Two routers, their calls, a ledger and a Redis that may be emptied, checked against a simple model. Each router's own
// steps keep their order here. Late and repeated steps occur in any order.

const HOLD = 1_000n;
const CREDIT = 10_000n;
const KEY_ID = 'key_1';
const MONTH = new Date().toISOString().slice(0, 7);

let opened: OpenedRedis;
type Scripts = Record<string, ReturnType<typeof defineScript>>;
/** The scripts unchanged, and with a recount in steps from the second pending call on. */
const whole: Scripts = {};
const inSteps: Scripts = {};
beforeAll(async () => {
  opened = await openTestRedis();
  for (const name of ['admit', 'settle', 'release', 'absorb', 'putBack']) {
    whole[name] = defineScript(opened.redis, name);
    const source = readScript(name).replace('local STEP = 500', 'local STEP = 1');
    expect(source).not.toBe(readScript(name));
    inSteps[name] = (keys, args) => opened.redis.eval(source, keys.length, ...keys, ...args);
  }
});
afterAll(() => opened.close());

interface Call {
  id: string;
  router: Router;
  charge: bigint;
  /** `lost`: its router crashed while it ran. `unadmitted`: it never was, or it was released. */
  state: 'unadmitted' | 'running' | 'lost' | 'ended';
  isSpooled: boolean;
  row: 'none' | 'unknown' | 'final';
  /** Whether it may be in nobody's sums: its router's session was over when it was given up, or when Redis was emptied. */
  isExcused: boolean;
}

interface Router {
  name: string;
  /** Its session, which is live. */
  session: string | undefined;
  number: number;
}

/** A router's answer from the ledger, with the state in which the router had asked. */
interface Answer {
  mark: string;
  router: Router;
  session: string | undefined;
  sums: Parameters<typeof toAbsorb>[2];
}

/** A router's list of its calls, under way to Redis. */
interface Listing {
  mark: string;
  router: Router;
  number: number;
  session: string;
  calls: { id: string; kind: 'held' | 'ended'; amount: bigint }[];
}

class World {
  readonly #scripts: Scripts;
  readonly workspaceId = `ws_${randomUUID()}`;
  /** Its own, so that the workspaces of a test do not close each other. */
  readonly #markKey = redisKeys.mark(this.workspaceId);
  mark = '';
  readonly routers: Router[] = ['router-1', 'router-2'].map((name) => ({ name, session: undefined, number: 0 }));
  readonly calls: Call[] = [];
  readonly answers: Answer[] = [];
  readonly listings: Listing[] = [];
  credited = CREDIT;
  sequence = 1;
  /** Answers after which a count had to go on. */
  steps = 0;

  constructor(scripts: Scripts) {
    this.#scripts = scripts;
  }

  async run(name: string, args: (string | number)[]): Promise<unknown> {
    const head = headOf(this.workspaceId, this.mark);
    return this.#scripts[name]?.(head.keys, [...head.args, ...args]);
  }

  /** Redis is emptied, or another one takes its place; `keeps` what it had, as one that was restarted. */
  async takeAnother(keeps: boolean): Promise<void> {
    this.mark = `${opened.mark.slice(0, 40)}:${this.workspaceId}:${randomUUID()}`;
    if (!keeps) {
      const found = await opened.redis.keys(`{${this.workspaceId}}:*`);
      if (found.length > 0) await opened.redis.del(found);
    }
    await opened.redis.set(this.#markKey, this.mark);
    for (const router of this.routers) router.session = undefined;
    // Until their routers have put them back.
    for (const call of this.calls) call.isExcused = true;
  }

  /**
   * Simulates an eviction, which also drops the place of the sums. An answer in flight may then be older than the
   * evicted sums.
   */
  async loseWallet(): Promise<void> {
    this.answers.length = 0;
    await opened.redis.del(redisKeys.wallet(this.workspaceId));
  }

  async admit(router: Router, charge: bigint): Promise<void> {
    // The gate waits for all routers.
    if (this.routers.some(({ session }) => session === undefined)) return;
    const call: Call = {
      id: randomUUID(),
      router,
      charge,
      state: 'unadmitted',
      isSpooled: false,
      row: 'none',
      isExcused: false,
    };
    const limits = [1, 1_000_000, 1_000_000_000, 1, String(HOLD), '', ''];
    const session = router.session ?? '';
    const [outcome] = (await this.run('admit', [
      ...[call.id, ...limits, session, '{}', KEY_ID, router.name, ''],
    ])) as string[];
    if (outcome !== 'admitted') return;
    call.state = 'running';
    this.calls.push(call);
  }

  /** The router's disk has the event; Redis has not heard. */
  end(call: Call): void {
    if (call.state !== 'running') return;
    call.state = 'ended';
    call.isSpooled = true;
  }

  async settle(call: Call): Promise<void> {
    if (call.state !== 'ended') return;
    const found = await this.run('settle', [call.id, String(call.charge), 1, '{}']);
    // The router puts all back where a call must be pending and is not.
    if (found === 'none' && call.isSpooled) call.router.session = undefined;
  }

  /** The event reached the ledger. */
  record(call: Call): void {
    if (call.state !== 'ended' || call.row === 'final') return;
    call.row = 'final';
    if (call.charge > 0n) this.sequence += 1;
  }

  /** Sweeps a call whose session is over, in the way of the sweeper. */
  async sweep(call: Call): Promise<void> {
    if (call.row !== 'none') return;
    const { workspaceId } = this;
    const [kind, session] = await opened.redis.hmget(redisKeys.call(workspaceId, call.id), 'kind', 'session');
    if (kind === 'held' && !this.isLive(session)) {
      call.row = 'unknown';
      call.isExcused = true;
    }
    if (kind === 'ended' && !this.isLive(session)) this.record(call);
  }

  isLive(session: string | null | undefined): boolean {
    return this.routers.some((router) => router.session === session);
  }

  /** Asks about what waits in the router's spool, and about calls whose session is over. */
  async ask(router: Router): Promise<void> {
    const { mark } = this;
    const { session } = router;
    if (session === undefined) return;
    const pending = await opened.redis.hgetall(redisKeys.calls(this.workspaceId));
    const lapsed = Object.entries(pending).filter(([, of]) => !this.isLive(of));
    const asked = new Set(this.calls.filter((call) => call.router === router && call.isSpooled).map(({ id }) => id));
    for (const [id] of lapsed) asked.add(id);
    const final = this.calls.filter(({ id, row }) => asked.has(id) && row === 'final').map(({ id }) => id);
    const unknown = lapsed.filter(([id]) => this.calls.find((call) => call.id === id)?.row === 'unknown');
    const { sequence, spent } = this;
    const sums = {
      sequence,
      left: this.credited - spent,
      months: { [MONTH]: spent },
      keys: { [KEY_ID]: spent },
      final,
      unknown,
    };
    this.answers.push({ mark, router, session, sums });
  }

  /** Says whether a count has to go on. */
  async absorb({ mark, router, session, sums }: Answer): Promise<boolean> {
    const [keys, args] = toAbsorb(this.workspaceId, mark, sums);
    const callsKey = redisKeys.calls(this.workspaceId);
    const before = await Promise.all((sums.unknown ?? []).map(([id]) => opened.redis.hget(callsKey, id)));
    const answer = await this.#scripts.absorb?.(keys, args);
    // The row of before gives a call up again, whose router put it back and has lost its session since.
    for (const [index, [id]] of (sums.unknown ?? []).entries()) {
      if (before[index] === null || this.isLive(before[index])) continue;
      const isGivenUp = (await opened.redis.hexists(callsKey, id)) === 0;
      if (isGivenUp) for (const call of this.calls) if (call.id === id) call.isExcused = true;
    }
    const taken = [expect.stringMatching(/^(absorbed|counting)$/), expect.any(Number), []];
    expect(answer).toEqual(mark === this.mark ? taken : ['closed', 0, []]);
    const isCounting = Array.isArray(answer) && answer[0] === 'counting';
    if (isCounting) this.steps += 1;
    // The session may have listed the call for a put-back since.
    if (mark !== this.mark || router.session !== session) return isCounting;
    for (const call of this.calls) if (call.router === router && sums.final?.includes(call.id)) call.isSpooled = false;
    return isCounting;
  }

  /** The first half of a put-back. */
  list(router: Router): void {
    router.session = undefined;
    router.number += 1;
    const own = this.calls.filter((call) => call.router === router && (call.state === 'running' || call.isSpooled));
    this.listings.push({
      mark: this.mark,
      router,
      number: router.number,
      session: randomUUID(),
      calls: own.map(({ id, state, charge }) =>
        state === 'running' ? { id, kind: 'held', amount: HOLD } : { id, kind: 'ended', amount: charge },
      ),
    });
  }

  /** The second half, which may come late and twice. */
  async putBack({ mark, router, number, session, calls }: Listing): Promise<void> {
    const fields = calls.flatMap(({ id, kind, amount }) => [
      id,
      kind,
      String(amount),
      KEY_ID,
      MONTH,
      0,
      60,
      600,
      1,
      '{}',
    ]);
    const head = headOf(this.workspaceId, mark);
    await opened.redis.set(redisKeys.session(this.workspaceId, session), router.name);
    const outcome = await this.#scripts.putBack?.(head.keys, [
      ...[...head.args, router.name, number, session, calls.length],
      ...fields,
    ]);
    if (mark !== this.mark) return expect(outcome).toBe('closed');
    if ((outcome !== 'back' && outcome !== 'recounted') || number !== router.number) return;
    router.session = session;
    for (const call of this.calls) if (call.router === router && call.state !== 'lost') call.isExcused = false;
  }

  /** Its running calls are nobody's; its disk stays. A put-back that was under way may arrive, but makes a session of nobody's. */
  crash(router: Router): void {
    router.session = undefined;
    router.number += 1;
    for (const call of this.calls) if (call.router === router && call.state === 'running') call.state = 'lost';
  }

  get spent(): bigint {
    return this.calls.reduce((sum, { row, charge }) => (row === 'final' ? sum + charge : sum), 0n);
  }

  /** Committed amount of the workspace's calls: the hold of running calls and the charge of ended ones. */
  get committed(): bigint {
    const amounts = this.calls.map(({ state, charge, isExcused }) =>
      isExcused ? 0n : state === 'running' ? HOLD : state === 'ended' ? charge : 0n,
    );
    return amounts.reduce((sum, amount) => sum + amount, 0n);
  }

  async check(): Promise<void> {
    const { workspaceId } = this;
    // In one round trip: the search is made of these.
    const [loaded, ofKey, { left, held, ended }, key] = await Promise.all([
      opened.redis.hget(redisKeys.wallet(workspaceId), 'loaded'),
      opened.redis.hget(redisKeys.key(workspaceId, KEY_ID), 'loaded'),
      opened.walletOf(workspaceId),
      opened.keyOf(workspaceId, KEY_ID),
    ]);
    expect(held >= 0n && ended >= 0n).toBe(true);
    if (loaded !== this.mark) return;
    expect(Number(left - held - ended)).toBeLessThanOrEqual(Number(this.credited - this.committed));
    if (ofKey !== this.mark) return;
    expect(Number(key.spent + key.held + key.ended)).toBeGreaterThanOrEqual(Number(this.committed));
  }

  async #putAllBack(): Promise<void> {
    for (const router of this.routers) {
      if (router.session !== undefined) continue;
      this.list(router);
      await this.putBack(this.listings.at(-1) as Listing);
    }
  }

  /** Runs the routers' loops until nothing is left to do. */
  async comeToRest(): Promise<void> {
    await this.#putAllBack();
    for (const call of this.calls) {
      this.end(call);
      await this.settle(call);
      this.record(call);
      await this.sweep(call);
    }
    // A settlement that found no call has ended the session of its router.
    await this.#putAllBack();
    for (const router of this.routers) {
      await this.ask(router);
      while (await this.absorb(this.answers.at(-1) as Answer));
    }
  }
}

interface Step {
  kind: (typeof kinds)[number];
  nth: number;
  charge: bigint;
}
const kinds = [
  ...['admit', 'admit', 'admit', 'admit', 'admit', 'admit', 'end', 'end', 'end', 'settle', 'settle', 'settle'],
  ...[
    'record',
    'record',
    'record',
    'sweep',
    'sweep',
    'ask',
    'ask',
    'ask',
    'absorb',
    'absorb',
    'absorb',
    'absorbNewest',
  ],
  ...['list', 'recover', 'recover', 'putBack', 'putBack', 'putBack', 'putBackNewest', 'lapse', 'crash', 'credit'],
  ...['empty', 'restart', 'loseWallet'],
] as const;
const aStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  nth: fc.nat(1_000),
  charge: fc.constantFrom(0n, 1n, 300n, 1_000n),
});

async function take(world: World, { kind, nth, charge }: Step): Promise<unknown> {
  const of = <Item>(items: readonly Item[]): Item | undefined => items[nth % Math.max(items.length, 1)];
  const router = of(world.routers) as Router;
  const [call, answer, listing] = [of(world.calls), of(world.answers), of(world.listings)];
  switch (kind) {
    case 'admit':
      return world.admit(router, charge);
    case 'end':
      return call && world.end(call);
    case 'settle':
      return call && world.settle(call);
    case 'record':
      return call && world.record(call);
    case 'sweep':
      return call && world.sweep(call);
    case 'ask':
      return world.ask(router);
    case 'absorb':
      return answer && world.absorb(answer);
    case 'absorbNewest':
      return world.answers.length > 0 && world.absorb(world.answers.at(-1) as Answer);
    case 'list':
      return router.session === undefined && world.list(router);
    case 'recover':
      if (router.session !== undefined) return;
      world.list(router);
      return world.putBack(world.listings.at(-1) as Listing);
    case 'putBack':
      return listing && world.putBack(listing);
    case 'putBackNewest':
      return world.listings.length > 0 && world.putBack(world.listings.at(-1) as Listing);
    case 'lapse':
      router.session = undefined;
      return;
    case 'crash':
      return world.crash(router);
    case 'credit':
      world.credited += charge;
      world.sequence += 1;
      return;
    case 'empty':
      return nth % 4 === 0 && world.takeAnother(false);
    case 'restart':
      return nth % 4 === 0 && world.takeAnother(true);
    case 'loseWallet':
      return nth % 2 === 0 && world.loseWallet();
  }
}

it.each<[string, Scripts, boolean]>([
  ['counted again at once', whole, false],
  ['counted again in steps', inSteps, true],
])(
  'in random orders of steps the gate never has more than there is, and once quiet exactly that: %s',
  async (_how, scripts, hasSteps) => {
    const order = fc.array(aStep, { minLength: 20, maxLength: 80, size: 'max' });
    const search = searchOf(300);
    let admitted = 0;
    let counts = 0;
    await fc.assert(
      fc.asyncProperty(order, async (steps) => {
        const world = new World(scripts);
        await world.takeAnother(false);
        await world.comeToRest();
        for (const step of steps) {
          await take(world, step);
          await world.check();
        }
        await world.comeToRest();
        await world.check();
        const { credited, spent, workspaceId } = world;
        expect(await opened.walletOf(workspaceId)).toEqual({ left: credited - spent, held: 0n, ended: 0n });
        expect(await opened.keyOf(workspaceId, KEY_ID)).toEqual({ spent, held: 0n, ended: 0n });
        expect(await opened.monthsOf(workspaceId)).toEqual({ spent, held: 0n, ended: 0n });
        expect(await opened.pendingOf(workspaceId)).toEqual([]);
        admitted += world.calls.length;
        counts += world.steps;
      }),
      search,
    );
    // The orders were not of steps that come to nothing.
    expect(admitted).toBeGreaterThan(1.5 * search.numRuns);
    expect(counts > search.numRuns / 30).toBe(hasSteps);
  },
);
