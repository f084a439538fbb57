import type { Mutation } from './mutations.ts';
import type { ScriptRun } from './redis/simulatedRedis.ts';
import { checkBooks } from './scenario/checkBooks.ts';
import { checkScript, excuseTheLate } from './scenario/checkWhileRunning.ts';
import { CLOCKS_APART_MS, FAULTS, giveCredit, heal } from './scenario/faults.ts';
import { LedgerOfTruth } from './scenario/ledgerOfTruth.ts';
import { makeCall, makeKeys } from './scenario/load.ts';
import { replayLetters } from './scenario/spoiltEvents.ts';
import { Stack } from './scenario/stack.ts';
import { enterWorld } from './world/currentWorld.ts';
import { Violation } from './world/violation.ts';
import { World } from './world/world.ts';

/** What became of one seed. */
export interface SeedResult {
  seed: number;
  /** What must not have been and was; undefined for a good run. */
  violation: string | undefined;
  /** The last steps, where there is a violation. */
  trace: string[];
  calls: number;
  letIn: number;
  rows: number;
  /** Redises that balances were kept in. */
  marks: number;
}

/** Longest that a run takes, in its own time. */
const LIMIT_MS = 240_000;
const QUIET_LIMIT_MS = 120_000;

/** Lives through one seed: load and faults, then everything mended, then the books. */
export async function runSeed(seed: number, mutation: Mutation = {}): Promise<SeedResult> {
  const world = new World(seed);
  enterWorld(world);
  const truth = new LedgerOfTruth();
  const { random } = world;
  const stack = new Stack(world, { truth, mutation, leaseMs: random.between(15, 40) * 100 });
  const onRejection = (error: unknown): void => world.fail(error);
  process.on('unhandledRejection', onRejection);
  stack.redis.onScript = (run) => {
    world.note(describeScript(run));
    try {
      checkScript(stack, run);
    } catch (error) {
      world.fail(error);
    }
  };
  const gates = new Map<string, string>();
  world.onStep = () => {
    for (const [redisId, { mark, openedAt }] of stack.database.tables.redisServers) {
      const next = `${mark} ${openedAt === null ? 'is closed' : 'is open'}`;
      if (gates.get(redisId) === next) continue;
      gates.set(redisId, next);
      world.note(`the gate of Redis ${redisId.slice(0, 4)} under ${next}`);
      if (openedAt !== null) excuseTheLate(stack, mark);
    }
  };
  const result = { seed, violation: undefined, trace: [], calls: 0, letIn: 0, rows: 0, marks: 0 };
  try {
    await world.run(() => live(stack, mutation.faults ?? []), LIMIT_MS);
  } catch (error) {
    const violation =
      error instanceof Violation
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    return { ...result, violation, trace: world.trace };
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  const calls = [...truth.calls.values()];
  return {
    ...result,
    calls: calls.length,
    letIn: calls.filter(({ holdNanoUsd }) => holdNanoUsd !== undefined).length,
    rows: stack.database.tables.usageRequests.size,
    marks: gates.size,
  };
}

function describeScript({ name, keys, args, reply }: ScriptRun): string {
  const workspace = /^\{(.+?)\}/.exec(keys[1] ?? keys[0] ?? '')?.[1] ?? '';
  const what: Record<string, () => string> = {
    absorb: () => `at ${args[3]}.${args[4]}, left ${args[5]}, of ${args[8]} final ${args[9]} unknown`,
    putBack: () => `number ${args[4]} of ${args[3]}, ${args[6]} calls`,
    admit: () => `call ${args[3]?.slice(-4)} for ${args[8]}`,
    settle: () => `call ${keys[5]?.slice(-4)} for ${args[3]}`,
    release: () => `call ${args[3]?.slice(-4)}`,
  };
  return `${name} ${workspace} ${(what[name] ?? (() => args.join(' ')))()}: ${Array.isArray(reply) ? reply[0] : reply}`;
}

const WORKSPACES = ['ws_0', 'ws_1'];

/** `certain`: faults that happen besides those of chance. */
async function live(stack: Stack, certain: string[]): Promise<void> {
  const { world } = stack;
  const { random } = world;
  makeKeys(stack);
  for (const workspaceId of WORKSPACES) await giveCredit(stack, workspaceId, 400_000n * BigInt(random.between(4, 14)));
  const routers = random.between(2, 3);
  const apartMs = random.chance(0.5) ? CLOCKS_APART_MS : 0;
  for (let index = 0; index < routers; index += 1) stack.addRouter({ skewMs: random.between(0, apartMs) });
  await world.sleep(1_500);

  const livesForMs = random.between(4_000, 10_000);
  const calls = random.between(20, 45);
  for (let nth = 0; nth < calls; nth += 1) world.schedule(random.share() * livesForMs, () => void makeCall(stack, nth));
  const names = Object.keys(FAULTS);
  const faults = random.between(1, 6);
  function happen(name: string): void {
    const fault = FAULTS[name];
    if (!fault) throw new Error(`there is no fault called ${name}`);
    world.schedule(random.share() * livesForMs, () => {
      world.note(`fault: ${name}`);
      stack.truth.faults.add(name);
      fault(stack).catch((error: unknown) => world.fail(error));
    });
  }
  for (let nth = 0; nth < faults; nth += 1) happen(random.pick(names));
  for (const name of certain) happen(name);
  await world.sleep(livesForMs + (random.chance(0.2) ? 20_000 : 500));
  heal(stack);
  // To ask for balances may show only now that Redis has lost them.
  do await untilQuiet(stack);
  while (!(await areAllLoaded(stack)));
  checkBooks(stack);
}

async function untilQuiet(stack: Stack): Promise<void> {
  const { world, machines, redis, replicas } = stack;
  const limit = world.now + QUIET_LIMIT_MS;
  const isQuiet = async (): Promise<boolean> => {
    if (!machines.every(({ router, process }) => router?.isQuiet() && process.frozenUntil <= world.now)) return false;
    if (WORKSPACES.some((id) => redis.data.run('EXISTS', [`{${id}}:calls`]) !== 0)) return false;
    if ((await replicas[0]?.ledger?.lag()) !== 0n) return false;
    // What was spoilt may have been read only now.
    await replayLetters(stack);
    return true;
  };
  // What is over has to stay so: a late event, or a sweep, may still be under way.
  for (let quiet = 0; quiet < 3; ) {
    await world.sleep(400);
    quiet = (await isQuiet()) ? quiet + 1 : 0;
    if (world.now > limit) {
      for (const { router, index } of machines) world.note(`router-${index}: ${router?.describe() ?? 'not running'}`);
      for (const id of WORKSPACES)
        world.note(`pending in ${id}: ${redis.data.run('HGETALL', [`{${id}}:calls`])?.toString() ?? ''}`);
      throw new Violation(`not quiet ${QUIET_LIMIT_MS / 1_000} s after everything was mended`);
    }
  }
}

/** Has the newest sums of every workspace and key taken over. False where Redis has lost them. */
async function areAllLoaded({ world, machines, keys }: Stack): Promise<boolean> {
  const [machine] = machines;
  const { router, process } = machine ?? {};
  if (!router) throw new Violation('no router runs');
  for (const { keyId, workspace } of keys.values()) {
    const isLoaded = await new Promise((resolve) =>
      world.schedule(
        0,
        () =>
          router.load(workspace.workspaceId, keyId).then(
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
