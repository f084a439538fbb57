import { createThrottle, type Taken, type Throttle } from '../src/createThrottle.ts';
import type { SimulatedRedis } from './openSimulatedRedis.ts';

const NAME = '203.0.113.9';
/** The pause of `shareThrottles`. */
const PAUSE_MS = 250;
/** The clock of Redis tells years, and that of a process how long it has run. */
const CLOCK_AHEAD_MS = 1_800_000_000_000;

/** A time in which one client sends to some of the replicas. */
export interface Phase {
  lengthMs: number;
  perSecond: number;
  /** Those that it sends to; one of them at random each time. */
  replicas: number[];
}

export interface Simulation {
  replicas: number;
  limit: { requestsPerMinute: number; burst: number };
  phases: Phase[];
  /** The longest way to Redis, and back. */
  lagMs: number;
  /** Part of the exchanges that fail, half of them after Redis has done them. */
  failing: number;
  random: () => number;
}

/** The decision on one request. */
export interface Decided {
  atMs: number;
  replica: number;
  isAllowed: boolean;
  /** Requests let through so far beyond those that one counter for all replicas would have let through. */
  excess: number;
}

/** Runs replicas that share a throttle through Redis, in simulated time, and returns the decision on each request. */
export async function simulateReplicas(redis: SimulatedRedis, simulation: Simulation): Promise<Decided[]> {
  const { limit, lagMs, failing, random } = simulation;
  let nowMs = 0;
  const throttles = Array.from({ length: simulation.replicas }, () =>
    createThrottle({ ...limit, maxNames: 10, isShared: true, now: () => nowMs }),
  );
  const truth = createTruth(throttles[0] as Throttle);
  const events: { atMs: number; run: () => unknown }[] = [];
  function at(atMs: number, run: () => unknown): void {
    const place = events.findLastIndex((event) => event.atMs <= atMs);
    events.splice(place + 1, 0, { atMs, run });
  }

  function exchange(throttle: Throttle): void {
    const taken = throttle.tell();
    const rest = (): void => at(nowMs + PAUSE_MS, () => exchange(throttle));
    if (taken.length === 0) {
      rest();
      return;
    }
    const fails = random() < failing;
    const isLost = fails && random() < 0.5;
    const toldTimeAt = nowMs + random() * lagMs;
    const heardTimeAt = toldTimeAt + random() * lagMs;
    at(heardTimeAt + random() * lagMs, async () => {
      const added = { ...throttle, name: 'simulated', taken };
      const used = isLost
        ? []
        : await redis.addTaken(added, CLOCK_AHEAD_MS + toldTimeAt - heardTimeAt, CLOCK_AHEAD_MS + nowMs);
      at(nowMs + random() * lagMs, () => {
        if (!fails) throttle.hear(taken[0] as Taken, used[0] as number);
        rest();
      });
    });
  }

  for (const throttle of throttles) at(random() * PAUSE_MS, () => exchange(throttle));
  const decided: Decided[] = [];
  for (const { atMs, replica } of listArrivals(simulation)) {
    for (let next = events[0]; next && next.atMs <= atMs; next = events[0]) {
      events.shift();
      nowMs = next.atMs;
      await next.run();
    }
    nowMs = atMs;
    const { isAllowed } = (throttles[replica] as Throttle).takeRequest(NAME);
    decided.push({ atMs, replica, isAllowed, excess: truth(atMs, isAllowed) });
  }
  return decided;
}

/** One counter of all that is let through: by how much that, with a further request where it was refused, is too many. */
function createTruth({ intervalMs, windowMs }: Throttle): (atMs: number, isAllowed: boolean) => number {
  let wholeAt = 0;
  return (atMs, isAllowed) => {
    const withIt = Math.max(wholeAt, atMs) + intervalMs;
    if (isAllowed) wholeAt = withIt;
    return (withIt - atMs - windowMs) / intervalMs;
  };
}

function listArrivals({ phases, random }: Simulation): { atMs: number; replica: number }[] {
  const arrivals: { atMs: number; replica: number }[] = [];
  let beganAt = 0;
  for (const { lengthMs, perSecond, replicas } of phases) {
    const nextAfter = (atMs: number): number => atMs - (Math.log(1 - random()) * 1_000) / perSecond;
    for (let atMs = nextAfter(beganAt); atMs < beganAt + lengthMs; atMs = nextAfter(atMs))
      arrivals.push({ atMs, replica: replicas[Math.floor(random() * replicas.length)] ?? 0 });
    beganAt += lengthMs;
  }
  return arrivals;
}
