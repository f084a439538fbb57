import { addCredit } from '../../../services/usage-ledger/src/credits/addCredit.ts';
import type { SimulatedProcess, World } from '../world/world.ts';
import type { TrueCredit } from './ledgerOfTruth.ts';
import { aBudget } from './load.ts';
import { replayLetters, spoilEvents } from './spoiltEvents.ts';
import { LINK_MS, type Stack } from './stack.ts';

const LONG_MS = 20_000;
const MOST_ROUTERS = 6;
/** Most that clocks of different machines differ, and that one is set forward or back. */
export const CLOCKS_APART_MS = 5_000;

type Fault = (stack: Stack) => Promise<void>;

const isRedisAvailable = ({ redis, world }: Stack): boolean => redis.isUp && redis.process.frozenUntil <= world.now;

async function loseRedis(stack: Stack, how: { isEmpty: boolean; lostMs: number; skewMs: number }): Promise<void> {
  const { redis, truth, world } = stack;
  if (!isRedisAvailable(stack)) return;
  redis.kill();
  await world.sleep(world.random.between(50, 2_000));
  if (redis.isUp) return;
  truth.lose({ at: world.now, kind: 'redis', router: undefined, since: how.isEmpty ? 0 : world.now - how.lostMs });
  redis.start(how);
}

/** Acts like FLUSHALL: it stays the same Redis. */
function emptyRedis(stack: Stack): void {
  if (!isRedisAvailable(stack)) return;
  stack.world.note('somebody empties Redis');
  stack.truth.lose({ at: stack.world.now, kind: 'redis', router: undefined });
  stack.redis.data.clear();
}

function setClock(world: World, process: SimulatedProcess): void {
  const byMs = world.random.between(-CLOCKS_APART_MS, CLOCKS_APART_MS);
  world.note(`the clock of ${process.name} is set by ${byMs} ms`);
  process.skewMs += byMs;
}

/** Acts like SIGSTOP, or like a pause of its virtual machine, in which its monotonic clock stands still as well. */
async function freeze(
  stack: Stack,
  { mostMs, isClockStill }: { mostMs: number; isClockStill: boolean },
): Promise<void> {
  const { world, machines } = stack;
  const { process, index } = world.random.pick(machines);
  const forMs = world.random.between(100, mostMs);
  if (process.frozenUntil > world.now) return;
  world.note(`router-${index} is frozen for ${forMs} ms${isClockStill ? ', and its clock stands still' : ''}`);
  process.frozenUntil = world.now + forMs;
  if (isClockStill) process.stoodStillMs += forMs;
}

async function killAndRestart(
  stack: Stack,
  { hasPower, keepsDisk }: { hasPower: boolean; keepsDisk: boolean },
): Promise<void> {
  const { world, truth } = stack;
  const machine = world.random.pick(stack.machines);
  if (machine.process.isDead) return;
  stack.killRouter(machine);
  if (!hasPower || !keepsDisk) truth.lose({ at: world.now, kind: 'disk', router: machine.index });
  if (!hasPower) machine.disk.losePower();
  if (!keepsDisk) stack.replaceDisk(machine);
  await world.sleep(world.random.chance(0.3) ? LONG_MS : world.random.between(50, 3_000));
  stack.restartRouter(machine);
}

/** The ledger's Postgres lacks its last commits. What operators did that is lost, they do again. */
function noteLostCommits(stack: Stack): void {
  const { world, truth, database } = stack;
  truth.heardAt.clear();
  for (const credit of truth.credits) {
    if (database.tables.credits.some(({ creditId }) => creditId === credit.creditId)) continue;
    if (credit.amountNanoUsd < 0n) truth.count(credit, false);
    void writeCredit(stack, credit).catch((error: unknown) => world.fail(error));
  }
  // The missing part is read again, which may take its time.
  const { log } = stack;
  log.database.slownessMs = world.random.chance(0.5) ? 500 : 0.3;
  world.schedule(
    3_000,
    () => {
      log.database.slownessMs = 0.3;
    },
    world.own,
  );
  // The log has a letter as it was; what it was repaired to has nobody.
  for (const callId of truth.replayed) {
    const call = truth.calls.get(callId);
    const row = database.tables.usageRequests.get(callId);
    if (call && (!row || row.status === 'unknown')) truth.excuse(call);
  }
}

/** For a while, then as before. */
async function during(
  stack: Stack,
  mostMs: number,
  { begin, end }: { begin: () => void; end: () => void },
): Promise<void> {
  begin();
  await stack.world.sleep(stack.world.random.between(50, mostMs));
  end();
}

function haveDatabaseAway(stack: Stack, mostMs: number, begin: () => void): Promise<void> {
  const { database } = stack;
  return during(stack, mostMs, {
    begin: () => {
      database.isAway = true;
      begin();
    },
    end: () => {
      database.isAway = false;
    },
  });
}

function slowRedis(stack: Stack): Promise<void> {
  const set = (slownessMs: number) => () => {
    for (const { redisLink } of stack.machines) redisLink.slownessMs = slownessMs;
  };
  return during(stack, 2_000, { begin: set(stack.world.random.between(100, 400)), end: set(LINK_MS) });
}

/** Faults of a run, and the operators' acts meanwhile. */
export const FAULTS: Record<string, Fault> = {
  redisLosesItsTail: (stack) =>
    loseRedis(stack, { isEmpty: false, lostMs: stack.world.random.between(0, 1_000), skewMs: 0 }),
  redisComesBackEmpty: (stack) => loseRedis(stack, { isEmpty: true, lostMs: 0, skewMs: 0 }),
  async redisFailsOver(stack) {
    const { random } = stack.world;
    const skewMs = random.between(-CLOCKS_APART_MS, CLOCKS_APART_MS);
    await loseRedis(stack, { isEmpty: false, lostMs: random.between(0, 300), skewMs });
    // The one that takes over has everybody at once, and answers some too late.
    await slowRedis(stack);
  },
  /** A replica takes over while its primary lives: no connection breaks. */
  async redisIsDemoted(stack) {
    if (!isRedisAvailable(stack)) return;
    const { random } = stack.world;
    const lostMs = random.between(0, 300);
    const since = stack.world.now - lostMs;
    stack.truth.lose({ at: stack.world.now, kind: 'redis', router: undefined, since });
    stack.failOverRedis({ lostMs, skewMs: random.between(-CLOCKS_APART_MS, CLOCKS_APART_MS) });
  },
  async walletIsEvicted({ redis, world }) {
    const workspaceId = `ws_${world.random.between(0, 1)}`;
    world.note(`the wallet of ${workspaceId} is evicted`);
    if (redis.isUp) redis.run('DEL', [`{${workspaceId}}:wallet`]);
  },
  async redisIsEmptied(stack) {
    emptyRedis(stack);
  },
  async redisIsEmptiedWhileFilled(stack) {
    await loseRedis(stack, { isEmpty: true, lostMs: 0, skewMs: 0 });
    const { world, database } = stack;
    const giveUpAt = world.now + 3_000;
    const isBeingFilled = (): boolean => {
      const { redisServers, routers } = database.tables;
      const closed = [...redisServers.values()].filter(({ openedAt }) => openedAt === null).map(({ mark }) => mark);
      return [...routers.values()].some(({ putBackMark }) => putBackMark !== null && closed.includes(putBackMark));
    };
    while (!isBeingFilled() && world.now < giveUpAt) await world.sleep(1);
    // When some have put back, and others have not.
    await world.sleep(world.random.share() * 150);
    emptyRedis(stack);
  },
  async clockOfRedisJumps({ redis, world }) {
    setClock(world, redis.process);
  },
  /** The jump is longer than a lease, so that each session of then is gone. */
  async clockOfRedisJumpsBeyondLeases({ redis, world, leaseMs }) {
    world.note('the clock of Redis is set forward by more than a lease');
    redis.process.skewMs += leaseMs + 1_000;
  },
  async clockOfRouterJumps({ machines, world }) {
    setClock(world, world.random.pick(machines).process);
  },
  async redisFreezes({ redis, world }) {
    redis.process.frozenUntil = world.now + world.random.between(100, 2_500);
    world.note('Redis is frozen');
  },
  redisIsSlow: slowRedis,
  routerLosesRedis: (stack) => {
    const { redisLink, client } = stack.world.random.pick(stack.machines);
    return during(stack, 2 * stack.leaseMs, {
      begin: () => {
        redisLink.isCut = true;
        if (stack.world.random.chance(0.5)) client.break();
      },
      end: () => {
        redisLink.isCut = false;
        client.break();
      },
    });
  },
  connectionsBreak: async ({ machines }) => {
    for (const { client, process } of machines) if (!process.isDead) client.break();
  },
  /** A router's commands are held up, and run beside later ones on another connection. */
  async commandsArriveLate({ machines, world }) {
    const { redisLink, client, process } = world.random.pick(machines);
    redisLink.slownessMs = 1_500;
    await world.sleep(world.random.between(100, 600));
    redisLink.slownessMs = LINK_MS;
    if (!process.isDead) client.break();
  },
  routerLosesLedger: (stack) => {
    const { ledgerLink } = stack.world.random.pick(stack.machines);
    const cut = (isCut: boolean) => () => {
      ledgerLink.isCut = isCut;
    };
    return during(stack, stack.world.random.chance(0.4) ? LONG_MS : 3_000, { begin: cut(true), end: cut(false) });
  },
  requestsAreLate: (stack) => {
    const set = (slownessMs: number) => () => {
      for (const { ledgerLink } of stack.machines) ledgerLink.slownessMs = slownessMs;
    };
    // Beyond a second nobody waits for the answer any more.
    const slownessMs = stack.world.random.between(200, 2_000);
    return during(stack, 3_000, { begin: set(slownessMs), end: set(LINK_MS) });
  },
  routerIsKilled: (stack) => killAndRestart(stack, { hasPower: true, keepsDisk: true }),
  routerLosesPower: (stack) => killAndRestart(stack, { hasPower: false, keepsDisk: true }),
  routerLosesItsDisk: (stack) => killAndRestart(stack, { hasPower: true, keepsDisk: false }),
  routerFreezes: (stack) => freeze(stack, { mostMs: 2 * stack.leaseMs + 2_000, isClockStill: false }),
  routerStandsStill: (stack) => freeze(stack, { mostMs: 2 * stack.leaseMs + 2_000, isClockStill: true }),
  diskIsFull: (stack) => {
    const { world, truth } = stack;
    const { disk, index } = world.random.pick(stack.machines);
    return during(stack, 3_000, {
      begin: () => {
        disk.isFull = true;
      },
      end: () => {
        disk.isFull = false;
        truth.lose({ at: world.now, kind: 'refusal', router: index });
      },
    });
  },
  diskHangs: (stack) => {
    const { world, truth } = stack;
    const { disk, index } = world.random.pick(stack.machines);
    return during(stack, 5_000, {
      begin: () => {
        disk.isHung = true;
      },
      end: () => {
        disk.isHung = false;
        truth.lose({ at: world.now, kind: 'refusal', router: index });
      },
    });
  },
  diskIsSlow: (stack) => {
    const { disk } = stack.world.random.pick(stack.machines);
    const set = (slownessMs: number) => () => {
      disk.slownessMs = slownessMs;
    };
    return during(stack, 2_000, { begin: set(300), end: set(1) });
  },
  eventLogIsDown: (stack) => {
    const set = (isDown: boolean) => () => {
      stack.log.isDown = isDown;
    };
    return during(stack, 6_000, { begin: set(true), end: set(false) });
  },
  async eventsAreSpoilt(stack) {
    spoilEvents(stack);
    await stack.world.sleep(stack.world.random.between(500, 4_000));
    await replayLetters(stack);
  },
  async ledgerIsKilled(stack) {
    const index = stack.world.random.between(0, stack.replicas.length - 1);
    stack.killReplica(index);
    await stack.world.sleep(stack.world.random.between(50, 3_000));
    if (stack.replicas[index]?.process.isDead) stack.startReplica(index);
  },
  databaseIsAway: (stack) => {
    const { database, world } = stack;
    return haveDatabaseAway(stack, world.random.chance(0.4) ? 10_000 : 3_000, () => {
      // The database had died, or could not be reached.
      if (world.random.chance(0.5)) database.startAgain(0);
      else database.abort();
    });
  },
  /** A standby takes over. */
  async databaseFailsOver(stack) {
    const { world, database } = stack;
    const lost = database.failOver(world.random.between(0, 8));
    world.note(`the ledger's Postgres fails over, and lacks ${lost} commits`);
    noteLostCommits(stack);
  },
  /** Its disk is one of before, as a snapshot of it: the server does not know. */
  databaseIsSetBack: (stack) => {
    const { world, database } = stack;
    return haveDatabaseAway(stack, 3_000, () => {
      const lost = database.startAgain(world.random.between(0, 30));
      world.note(`the disk of the ledger's Postgres is set back by ${lost} commits`);
      noteLostCommits(stack);
    });
  },
  databaseIsSlow: (stack) => {
    const set = (slownessMs: number) => () => {
      stack.database.slownessMs = slownessMs;
    };
    return during(stack, 2_000, { begin: set(200), end: set(0.3) });
  },
  commitsAreLost: (stack) => {
    const set = (share: number) => () => {
      stack.database.lostCommits = share;
    };
    return during(stack, 3_000, { begin: set(0.3), end: set(0) });
  },
  async creditIsGiven(stack) {
    const { world } = stack;
    const workspaceId = `ws_${world.random.between(0, 1)}`;
    await giveCredit(stack, workspaceId, 400_000n * BigInt(world.random.between(1, 6)));
  },
  async creditIsTaken(stack) {
    const { world } = stack;
    await takeCredit(stack, `ws_${world.random.between(0, 1)}`, 400_000n * BigInt(world.random.between(1, 4)));
  },
  async routerJoins(stack) {
    if (stack.machines.length < MOST_ROUTERS) stack.addRouter({ skewMs: 0 });
  },
  async routerLeaves(stack) {
    const machine = stack.world.random.pick(stack.machines);
    await stack.stopRouter(machine);
    await stack.world.sleep(stack.world.random.between(100, LONG_MS));
    stack.restartRouter(machine);
  },
  async keyIsChanged(stack) {
    const { world } = stack;
    const key = world.random.pick([...stack.keys.values()]);
    const generation = key.generation + 1;
    const { budgetByKey } = stack.truth;
    const highest = budgetByKey.get(key.keyId);
    // One that never had a budget is left without, as its calls may have spent any amount.
    const maxBudgetNanoUsd = highest === undefined ? null : aBudget(world.random);
    if (highest !== undefined && maxBudgetNanoUsd !== null && maxBudgetNanoUsd > highest)
      budgetByKey.set(key.keyId, maxBudgetNanoUsd);
    stack.keys.set(key.keyId, { ...key, generation, maxBudgetNanoUsd });
    const { router, process } = world.random.pick(stack.machines);
    if (!router || process.isDead) return;
    const { workspaceId } = key.workspace;
    world.schedule(
      0,
      () => void router.raiseGeneration({ workspaceId, keyId: key.keyId, generation }).catch(() => {}),
      process,
    );
  },
};

/** Gives a workspace credit, however often it has to be tried; the truth knows of it before anybody can spend it. */
export async function giveCredit(stack: Stack, workspaceId: string, amountNanoUsd: bigint): Promise<void> {
  const credit = aCredit(stack, workspaceId, amountNanoUsd);
  stack.truth.count(credit, true);
  await writeCredit(stack, credit);
}

/** Takes credit, as `turnpike credit take` does: it limits what is let in from when the command has ended. */
async function takeCredit(stack: Stack, workspaceId: string, amountNanoUsd: bigint): Promise<void> {
  await writeCredit(stack, aCredit(stack, workspaceId, -amountNanoUsd));
}

function aCredit({ world, truth }: Stack, workspaceId: string, amountNanoUsd: bigint): TrueCredit {
  const creditId = `credit-${truth.credits.length}-${world.now}`;
  const credit = { creditId, workspaceId, amountNanoUsd, isCounted: false };
  truth.credits.push(credit);
  return credit;
}

/** Tries until the ledger has it, and until Redis has heard of one that takes. */
async function writeCredit(stack: Stack, credit: TrueCredit): Promise<void> {
  const { world, truth, database } = stack;
  const { creditId, workspaceId, amountNanoUsd } = credit;
  const again = async (): Promise<void> => world.sleep(200);
  for (;;) {
    try {
      await addCredit(database.asDb(), { creditId, workspaceId, amountNanoUsd, note: 'simulated' });
      if (amountNanoUsd > 0n || (await hasReloaded(stack, workspaceId))) break;
    } catch {
      // Its answer may be lost: it is given once, however often it is tried.
    }
    await again();
  }
  if (amountNanoUsd > 0n) return;
  const isKnown = database.tables.credits.some((each) => each.creditId === creditId);
  if (isKnown) truth.count(credit, true);
  else await writeCredit(stack, credit);
}

function hasReloaded({ world, machines }: Stack, workspaceId: string): Promise<boolean> {
  const { router, process } = world.random.pick(machines);
  if (!router || process.isDead) return Promise.resolve(false);
  return new Promise((resolve) => {
    // One that dies or is frozen meanwhile answers nobody.
    const deadline = world.schedule(9_000, () => resolve(false), world.own);
    const end = (isDone: boolean) => () => {
      deadline.isCancelled = true;
      world.schedule(0, () => resolve(isDone), world.own);
    };
    world.schedule(0, () => void router.reload(workspaceId).then(end(true), end(false)), process);
  });
}

/** Mends everything, at once. */
export function heal(stack: Stack): void {
  const { world } = stack;
  world.note('everything is mended');
  stack.log.isDown = false;
  Object.assign(stack.database, { isAway: false, slownessMs: 0.3, lostCommits: 0 });
  if (!stack.redis.isUp) stack.redis.start({ isEmpty: false, lostMs: 0, skewMs: 0 });
  stack.redis.process.frozenUntil = 0;
  stack.replicas.forEach(({ process }, index) => {
    if (process.isDead) stack.startReplica(index);
  });
  for (const machine of stack.machines) {
    if (machine.disk.isFull || machine.disk.isHung)
      stack.truth.lose({ at: world.now, kind: 'refusal', router: machine.index });
    Object.assign(machine.disk, { isFull: false, isHung: false, slownessMs: 1 });
    if (machine.client.server !== stack.redis) machine.client.break();
    Object.assign(machine.redisLink, { server: stack.redis, isCut: false, slownessMs: LINK_MS });
    Object.assign(machine.ledgerLink, { isCut: false, slownessMs: LINK_MS });
    Object.assign(machine.logLink, { isCut: false, slownessMs: LINK_MS });
    stack.restartRouter(machine);
  }
}
