import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { TAG } from '@turnpike/holds/test/aShard';
import type { ScriptRun } from '../redis/simulatedRedis.ts';
import { Violation } from '../world/violation.ts';
import { FAULTS, giveCredit } from './faults.ts';
import { makeCallOf, makeProbeKey, PROBE_KEY, PROBE_WORKSPACE } from './load.ts';
import { REROUTED_MS, type RouterMachine, type Stack } from './stack.ts';

/** With one part broken for good, the others admit again within so long, and go on. */
const ADMIT_WITHIN_MS = 5_000;
/** Pauses between the calls that show whether a router admits: until that is due, and then. */
const PROBE = { firstMs: 250, thenMs: 2_000, lastsMs: 100 };
/** Beyond lease and looks of a sweeper: what it takes to record calls and to take that over. */
const RECORDED_MS = 8_000;

/** A part that breaks and stays so. */
interface Breakage {
  breakIt: (stack: Stack, sick: RouterMachine, isOver: () => boolean) => unknown;
  /** No router is sick: all of them have to admit. */
  isShared?: boolean;
  /** Calls have lost their router, as far as Redis can tell, and are brought to their end. */
  losesCalls?: boolean;
}

export const BREAKAGES: Record<string, Breakage> = {
  aRouterDies: { breakIt: (stack, sick) => stack.killRouter(sick), losesCalls: true },
  aRouterDiesWithItsDisk: {
    losesCalls: true,
    breakIt(stack, sick) {
      stack.killRouter(sick);
      stack.truth.lose({ at: stack.world.now, kind: 'disk', router: sick.index });
      stack.replaceDisk(sick);
    },
  },
  aDiskTakesNothing: {
    breakIt(_stack, { disk }) {
      disk.isFull = true;
    },
  },
  aRouterLosesRedis: {
    losesCalls: true,
    breakIt(_stack, { redisLink, client }) {
      redisLink.isCut = true;
      client.break();
    },
  },
  aRouterLosesTheLedger: {
    breakIt(_stack, { ledgerLink }) {
      ledgerLink.isCut = true;
    },
  },
  aRouterLosesTheLog: {
    breakIt(_stack, { logLink }) {
      logLink.isCut = true;
    },
  },
  theLogIsDown: {
    isShared: true,
    breakIt({ log }) {
      log.isDown = true;
    },
  },
  aRouterSeesAnotherRedis: {
    losesCalls: true,
    breakIt(stack, { redisLink, client }) {
      const other = stack.makeRedis();
      other.onScript = (run) => checkStranger(stack, run);
      redisLink.server = other;
      client.break();
    },
  },
  /** The others' addresses lead to the one that took over, and the former goes on as if it were a primary. */
  aRouterStaysWithTheOldRedis: {
    losesCalls: true,
    breakIt(stack, sick) {
      const former = stack.redis;
      stack.truth.lose({ at: stack.world.now, kind: 'redis', router: undefined, since: stack.world.now });
      stack.failOverRedis({ lostMs: 0, skewMs: 0 });
      former.data.isReplica = false;
      sick.redisLink.server = former;
      for (const { redisLink, client } of stack.machines)
        if (redisLink !== sick.redisLink) {
          redisLink.server = stack.redis;
          client.break();
        }
    },
  },
  aRouterIsPaused: {
    losesCalls: true,
    async breakIt({ world }, { process }, isOver) {
      while (!isOver()) {
        process.frozenUntil = world.now + 1_000;
        await world.sleep(500);
      }
    },
  },
};

/** How long a router goes on with what it was told of a Redis. */
const HEARS_MS = 3_000;
const WRITTEN = ['marked', 'back', 'recounted', 'absorbed', 'admitted'];

/** Into a Redis that is not the region's nothing is written, as long as the region has one that is open. */
function checkStranger({ database, redis, world }: Stack, { name, reply }: ScriptRun): void {
  const openedAt = database.tables.findServer(redis.data.replicationId)?.openedAt ?? Number.POSITIVE_INFINITY;
  const outcome = Array.isArray(reply) ? reply[0] : reply;
  if (redis.isUp && WRITTEN.includes(String(outcome)) && world.beganAtMs + world.now - openedAt > HEARS_MS)
    world.fail(new Violation('stranger', `${name} has written into a Redis that is not the region's`));
}

const REDIS_LOSSES = ['redisComesBackEmpty', 'redisLosesItsTail', 'redisIsEmptied', 'redisIsDemoted'];

/** Breaks a part for good, most often with Redis lost meanwhile, and sees that all others go on. */
export async function breakForGood(stack: Stack, name: string): Promise<void> {
  const { world, truth } = stack;
  const { random } = world;
  const { breakIt, isShared, losesCalls } = BREAKAGES[name] ?? {};
  if (!breakIt) throw new Error(`nothing breaks that is called ${name}`);
  makeProbeKey(stack);
  await giveCredit(stack, PROBE_WORKSPACE, 10n ** 12n);
  await world.sleep(random.between(500, 3_000));
  const sick = random.pick(stack.machines);
  let isOver = false;
  world.note(`for good: ${name}, router-${sick.index}`);
  Promise.resolve(breakIt(stack, sick, () => isOver)).catch((error: unknown) => world.fail(error));
  let dueAt = Number.POSITIVE_INFINITY;
  let endsAt = Number.POSITIVE_INFINITY;
  const well = stack.machines.filter((machine) => isShared || machine !== sick);
  const probes = well.map((machine) => probe(stack, machine, { dueAt: () => dueAt, endsAt: () => endsAt }));
  await world.sleep(random.share() * 4_000);
  if (random.chance(0.7)) {
    const loss = random.pick(REDIS_LOSSES);
    world.note(`fault: ${loss}`);
    truth.faults.add(loss);
    await FAULTS[loss]?.(stack);
    if (loss === 'redisIsDemoted') await world.sleep(REROUTED_MS);
  }
  const wellFrom = world.now;
  const sweptBy = losesCalls ? wellFrom + 1.75 * stack.leaseMs + RECORDED_MS : 0;
  dueAt = wellFrom + ADMIT_WITHIN_MS;
  endsAt = Math.max(wellFrom + 2 * ADMIT_WITHIN_MS, sweptBy);
  await Promise.all(probes);
  if (losesCalls) checkSwept(stack, sick);
  isOver = true;
}

/** Asks a router again and again whether it admits. From the due time on it has to, each time. */
async function probe(
  stack: Stack,
  machine: RouterMachine,
  { dueAt, endsAt }: { dueAt: () => number; endsAt: () => number },
): Promise<void> {
  const { world, keys } = stack;
  const key = keys.get(PROBE_KEY);
  if (!key) throw new Error('there is no key to probe with');
  for (let nth = 0; world.now < endsAt(); nth += 1) {
    const askedAt = world.now;
    const call = makeCallOf(stack, { machine, key, nth: 10_000 * (machine.index + 1) + nth, longestMs: PROBE.lastsMs });
    while (call && !call.isLetIn && !call.isRefused && world.now < askedAt + ADMIT_WITHIN_MS) await world.sleep(20);
    if (!call?.isLetIn && askedAt >= dueAt())
      throw new Violation('live', `router-${machine.index}, which is well, admits nothing`);
    await world.sleep(world.now < dueAt() ? PROBE.firstMs : PROBE.thenMs);
  }
}

/** The calls of a router that is gone are pending no more. */
function checkSwept({ truth, redis }: Stack, { index }: RouterMachine): void {
  for (const { callId, workspaceId, router, session } of truth.calls.values()) {
    if (router !== index || redis.data.run('EXISTS', [redisKeys.session(TAG, session ?? '')]) === 1) continue;
    const kind = redis.data.run('HGET', [`{${workspaceId}}:call:${callId}`, 'kind']);
    if (kind === 'held' || kind === 'ended')
      throw new Violation('swept', `call ${callId.slice(-4)} of router-${index}, which is gone, is ${kind} still`);
  }
}
