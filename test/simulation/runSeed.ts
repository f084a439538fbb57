import { ALL_SLOTS, routerName, serverName } from './ledger/ledgerTables.ts';
import type { Mutation } from './mutations.ts';
import type { ScriptRun } from './redis/simulatedRedis.ts';
import { BREAKAGES, breakForGood } from './scenario/breakForGood.ts';
import { checkBooks } from './scenario/checkBooks.ts';
import { watchLedger } from './scenario/checkLedger.ts';
import { checkScript } from './scenario/checkWhileRunning.ts';
import { CLOCKS_APART_MS, FAULTS, giveCredit, heal } from './scenario/faults.ts';
import { LedgerOfTruth } from './scenario/ledgerOfTruth.ts';
import { makeCall, makeKeys } from './scenario/load.ts';
import { replayLetters } from './scenario/spoiltEvents.ts';
import { type RouterMachine, Stack } from './scenario/stack.ts';
import { enterWorld } from './world/currentWorld.ts';
import { type CheckName, Violation } from './world/violation.ts';
import { World } from './world/world.ts';

/** The result of one seed. */
export interface SeedResult {
  seed: number;
  /** The violation; undefined for a good run. */
  violation: string | undefined;
  /** The check that noticed it. */
  check: CheckName | undefined;
  /** The last steps, where there is a violation. */
  trace: string[];
  calls: number;
  letIn: number;
  rows: number;
  /** Redises that balances were kept in. */
  marks: number;
}

/** Beyond two leases: how long a run takes at most, in its own time, and how long it may take to become quiet. */
const LIMIT_MS = 240_000;
const QUIET_LIMIT_MS = 120_000;
/** Every so many seeds one part breaks for good, instead of many for a while. */
const BREAKS_EVERY = 5;

/** Production's lease, and times that keep the order of production's: a router is missed and given up long before its lease ends. */
const PRODUCTION_LEASE_MS = 60_000;
function aLease({ random }: World): number {
  const share = random.share();
  if (share < 0.08) return PRODUCTION_LEASE_MS;
  // One that lapses before anybody is missed has more of its faults in a short run.
  return share < 0.6 ? random.between(80, 200) * 100 : random.between(15, 40) * 100;
}

/** Lives through one seed: load and faults, then everything mended, then the books. */
export async function runSeed(seed: number, mutation?: Mutation): Promise<SeedResult> {
  const world = new World(seed);
  enterWorld(world);
  const truth = new LedgerOfTruth();
  const stack = new Stack(world, { truth, mutation, leaseMs: mutation?.leaseMs ?? aLease(world) });
  const onRejection = (error: unknown): void => world.fail(error);
  process.on('unhandledRejection', onRejection);
  stack.onScript = (run, redis) => {
    world.note(describeScript(run));
    try {
      checkScript(stack, run, redis);
    } catch (error) {
      world.fail(error);
    }
  };
  const watch = watchLedger(stack);
  world.onStep = watch.look;
  const result = { seed, violation: undefined, check: undefined, trace: [], calls: 0, letIn: 0, rows: 0, marks: 0 };
  try {
    await world.run(() => live(stack, mutation), LIMIT_MS + 2 * stack.leaseMs);
  } catch (error) {
    const violation =
      error instanceof Violation
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    const check = error instanceof Violation ? error.check : 'error';
    return { ...result, violation, check, trace: world.trace };
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  const calls = [...truth.calls.values()];
  return {
    ...result,
    calls: calls.length,
    letIn: calls.filter(({ isLetIn }) => isLetIn).length,
    rows: stack.database.tables.usageRequests.size,
    marks: watch.marks.size,
  };
}

function describeScript({ name, keys, args, reply }: ScriptRun): string {
  const workspace = /^\{(.+?)\}/.exec(keys[0] ?? '')?.[1] ?? '';
  const what: Record<string, () => string> = {
    absorb: () => `at ${args[1]}.${args[2]}, left ${args[3]}, of ${args[6]} final ${args[7]} unknown`,
    putBack: () => `number ${args[2]} of ${args[1]}, ${args[4]} calls`,
    admit: () => `call ${args[1]?.slice(-4)} for ${args[6]}`,
    settle: () => `call ${args[1]?.slice(-4)} for ${args[2]}`,
    release: () => `call ${args[1]?.slice(-4)}`,
    // A random value may be in it, which differs from run to run.
    claim: () => `for ${args[1]} ms`,
  };
  return `${name} ${workspace} ${(what[name] ?? (() => args.join(' ')))()}: ${Array.isArray(reply) ? reply[0] : reply}`;
}

const WORKSPACES = ['ws_0', 'ws_1'];
const FORMER_REDIS = 'f'.repeat(40);
const FORMER_MARK = '00000000-0000-4000-8000-00000000f0f0';

async function live(stack: Stack, { faults: certain = [], breaks }: Partial<Mutation> = {}): Promise<void> {
  const { world } = stack;
  const { random } = world;
  const breaksForGood = breaks !== undefined || (certain.length === 0 && world.seed % BREAKS_EVERY === 0);
  makeKeys(stack);
  if (random.chance(0.5)) haveHistory(stack);
  for (const workspaceId of WORKSPACES) await giveCredit(stack, workspaceId, 400_000n * BigInt(random.between(4, 14)));
  const few = random.chance(0.15) ? random.between(4, 6) : random.between(2, 3);
  // Two routers that see two Redises cannot tell which is wrong.
  const routers = breaksForGood ? Math.max(few, 3) : few;
  const apartMs = random.chance(0.5) ? CLOCKS_APART_MS : 0;
  for (let index = 0; index < routers; index += 1) stack.addRouter({ skewMs: random.between(0, apartMs) });
  await world.sleep(1_500);

  const livesForMs = random.between(4_000, 10_000);
  const calls = random.between(20, 45);
  for (let nth = 0; nth < calls; nth += 1) world.schedule(random.share() * livesForMs, () => makeCall(stack, nth));
  if (breaksForGood) await breakForGood(stack, breaks ?? random.pick(Object.keys(BREAKAGES)));
  else await haveFaults(stack, { certain, livesForMs });
  heal(stack);
  // To ask for balances may show only now that Redis has lost them.
  do await untilQuiet(stack);
  while (!(await areAllLoaded(stack)));
  checkBooks(stack);
}

/** Causes some faults of chance, and those that are certain. */
async function haveFaults(
  stack: Stack,
  { certain, livesForMs }: { certain: string[]; livesForMs: number },
): Promise<void> {
  const { world, truth } = stack;
  const { random } = world;
  const names = Object.keys(FAULTS);
  const faults = random.between(1, 6);
  function happen(name: string): void {
    const fault = FAULTS[name];
    if (!fault) throw new Error(`there is no fault called ${name}`);
    world.schedule(random.share() * livesForMs, () => {
      world.note(`fault: ${name}`);
      truth.faults.add(name);
      fault(stack).catch((error: unknown) => world.fail(error));
    });
  }
  for (let nth = 0; nth < faults; nth += 1) happen(random.pick(names));
  for (const name of certain) happen(name);
  await world.sleep(livesForMs + (random.chance(0.2) ? 20_000 : 500));
}

/** A region that has run before: routers that were lost without a word, and the Redis of yesterday, open as it was left. */
function haveHistory({ database: { tables }, world }: Stack): void {
  const yesterday = world.beganAtMs - 86_000_000;
  for (let nth = 0; nth < 20; nth += 1) {
    const routerId = `former-${nth}`;
    const reported = {
      routerId,
      shard: ALL_SLOTS,
      redisId: FORMER_REDIS,
      putBackMark: FORMER_MARK,
      heardAt: yesterday,
    };
    tables.routers.set(routerName(reported), reported);
  }
  const times = { raisedAt: yesterday, openedAt: yesterday, seenAt: yesterday };
  const server = { shard: ALL_SLOTS, redisId: FORMER_REDIS, mark: FORMER_MARK, ...times };
  tables.redisServers.set(serverName(server), server);
}

async function untilQuiet(stack: Stack): Promise<void> {
  const { world, machines, replicas, leaseMs, truth } = stack;
  const workspaceIds = [...truth.mostCredited.keys()];
  const limit = world.now + QUIET_LIMIT_MS + 2 * leaseMs;
  const isQuiet = async (): Promise<boolean> => {
    // The ledger may have read a spoilt record only now. The router of its call is not idle until the letter is replayed.
    await replayLetters(stack);
    const isIdle = ({ router, process, hasLeft }: RouterMachine) =>
      hasLeft || (router?.isQuiet() && process.frozenUntil <= world.now);
    if (!machines.every(isIdle) || machines.some((machine) => stack.isServing(machine))) return false;
    const { redis } = stack;
    if (workspaceIds.some((id) => redis.data.run('EXISTS', [`{${id}}:calls`]) !== 0)) return false;
    return (await replicas[0]?.ledger?.lag()) === 0n;
  };
  // A quiet state has to last, because a late event or a sweep may still be in progress.
  for (let quiet = 0; quiet < 3; ) {
    await world.sleep(400);
    quiet = (await isQuiet()) ? quiet + 1 : 0;
    if (world.now > limit) {
      for (const { router, index } of machines) world.note(`router-${index}: ${router?.describe() ?? 'not running'}`);
      for (const id of workspaceIds)
        world.note(`pending in ${id}: ${stack.redis.data.run('HGETALL', [`{${id}}:calls`])?.toString() ?? ''}`);
      throw new Violation(
        'quiet',
        `it is not quiet ${QUIET_LIMIT_MS / 1_000} s and two leases after everything was mended`,
      );
    }
  }
}

/**
 * Loads the newest sums of every workspace, key and period. Returns false if Redis has lost them. The sum of a
 * period that is not asked for comes later than its key's, and is outdated until then.
 */
async function areAllLoaded({ world, machines, keys, truth }: Stack): Promise<boolean> {
  const machine = machines.find(({ hasLeft }) => !hasLeft);
  const { router, process } = machine ?? {};
  if (!router) throw new Violation('quiet', 'no router runs');
  for (const { keyId, workspace } of keys.values()) {
    const isLoaded = await new Promise((resolve) =>
      world.schedule(
        0,
        () =>
          router.load(workspace.workspaceId, keyId, truth.periodBudgetByKey.get(keyId)?.period).then(
            () => resolve(true),
            () => resolve(false),
          ),
        process,
      ),
    );
    if (!isLoaded) return false;
  }
  return true;
}
