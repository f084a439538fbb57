import type { Mutation } from './mutations.ts';
import type { ScriptRun } from './redis/simulatedRedis.ts';
import { checkBooks } from './scenario/checkBooks.ts';
import { checkScript, excuseTheGivenUp } from './scenario/checkWhileRunning.ts';
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
  epochs: number;
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
  let phase = '';
  world.onStep = () => {
    const { epoch } = stack.database.tables;
    const next = `epoch ${epoch.number} is ${epoch.phase}`;
    if (next !== phase) {
      world.note(next);
      phase = next;
      if (epoch.phase !== 'draining') excuseTheGivenUp(stack);
    }
  };
  const result = { seed, violation: undefined, trace: [], calls: 0, letIn: 0, rows: 0, epochs: 0 };
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
    epochs: stack.database.tables.epoch.number,
  };
}

function describeScript({ name, keys, args, reply }: ScriptRun): string {
  const workspace = /^\{(.+?)\}/.exec(keys[0] ?? '')?.[1];
  const what =
    name === 'loadBalances' || name === 'raiseGeneration' ? args.slice(0, 8).join(' ') : `call ${args[0]?.slice(-4)}`;
  return `${name} ${workspace} ${what}: ${Array.isArray(reply) ? reply[0] : reply}`;
}

/** `certain`: faults that happen besides those of chance. */
async function live(stack: Stack, certain: string[]): Promise<void> {
  const { world } = stack;
  const { random } = world;
  makeKeys(stack);
  for (const workspaceId of ['ws_0', 'ws_1'])
    await giveCredit(stack, workspaceId, 400_000n * BigInt(random.between(4, 14)));
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
  // To ask for balances may show only now that Redis has lost them: then everything is built anew.
  do await untilQuiet(stack);
  while (!(await areAllLoaded(stack)));
  checkBooks(stack);
}

async function untilQuiet(stack: Stack): Promise<void> {
  const { world, machines, redis, replicas } = stack;
  const limit = world.now + QUIET_LIMIT_MS;
  const isQuiet = async (): Promise<boolean> => {
    if (!machines.every(({ router, process }) => router?.isQuiet() && process.frozenUntil <= world.now)) return false;
    if (['ws_0', 'ws_1'].some((id) => redis.data.run('ZCARD', [`{${id}}:calls`]) !== 0)) return false;
    if ((await replicas[0]?.ledger?.lag()) !== 0n) return false;
    // What was spoilt may have been read only now.
    await replayLetters(stack);
    return stack.database.tables.epoch.rebuildWantedAt === null;
  };
  // What is over has to stay so: a late event, or a sweep, may still be under way.
  for (let quiet = 0; quiet < 3; ) {
    await world.sleep(400);
    quiet = (await isQuiet()) ? quiet + 1 : 0;
    if (world.now > limit) {
      for (const { router, index } of machines) world.note(`router-${index}: ${router?.describe() ?? 'not running'}`);
      throw new Violation(`not quiet ${QUIET_LIMIT_MS / 1_000} s after everything was mended`);
    }
  }
}

/** Brings every workspace's balances of the epoch in force. False where Redis has lost them. */
async function areAllLoaded({ world, machines }: Stack): Promise<boolean> {
  const [machine] = machines;
  const { router, process } = machine ?? {};
  if (!router) throw new Violation('no router runs');
  for (const workspaceId of ['ws_0', 'ws_1']) {
    const isLoaded = await new Promise((resolve) =>
      world.schedule(
        0,
        () =>
          router.load(workspaceId).then(
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
