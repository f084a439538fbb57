import { seededRandom } from '../seededRandom.ts';
import type { Costs } from './costs.ts';
import { EventQueue } from './eventQueue.ts';
import { FifoServer } from './fifoServer.ts';
import type { Load } from './load.ts';
import { BURSTS } from './simulateRegion.ts';
import { Waits } from './waits.ts';
import { createWorkspaceDraw, shareCalls } from './workspaces.ts';

/** Of so many ways to lay workspaces on shards, some put the largest together. */
const PLACEMENTS = 400;

export interface RedisOptions {
  seed: number;
  costs: Costs;
  load: Load;
  shards: number;
  seconds: number;
}

export interface RedisResult {
  /** How busy the busiest shard is: as a rule, and where only one way in twenty to lay workspaces on shards is worse. */
  busiest: number;
  busiestOfTwenty: number;
  /** What an admission or a settlement waits there, of the one in twenty, seconds. */
  waits: Waits;
}

/** Shards of Redis that workspaces fall onto by their ids. Half of a call's time is its admission, half what comes at its end. */
export function simulateRedis({ seed, costs, load, shards, seconds }: RedisOptions): RedisResult {
  const random = seededRandom(seed);
  const shares = shareCalls();
  const placements = Array.from({ length: PLACEMENTS }, () => {
    const shardOf = shares.map(() => Math.floor(random() * shards));
    const loads = new Array<number>(shards).fill(0);
    for (const [workspace, shard] of shardOf.entries())
      loads[shard] = (loads[shard] ?? 0) + (shares[workspace] as number);
    return { shardOf, busiest: Math.max(...loads) };
  }).sort((a, b) => a.busiest - b.busiest);
  const placementAt = (part: number) => placements[Math.floor(PLACEMENTS * part)] as (typeof placements)[number];
  const toBusy = (share: number): number => (share * load.callsPerSecond * costs.redisUs) / 1e6;

  const { shardOf, busiest } = placementAt(0.95);
  const waits = Array.from({ length: shards }, () => new Waits());
  const servers = waits.map((each) => new FifoServer(each));
  const draw = createWorkspaceDraw(shares, random);
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  const halfCall = (): number => exponential((costs.redisUs / 2) * 1e-6);
  const queue = new EventQueue<number | 'arrive'>();
  const { share, size } = BURSTS;
  const arrivalsPerSecond = load.callsPerSecond * (1 - share + share / size);
  const burstShare = share / size / (1 - share + share / size);
  const durationSeconds = Math.max(1, load.chunks) * load.everySeconds;
  queue.add(0, 'arrive');
  const handle = (now: number, what: number | 'arrive'): void => {
    if (what !== 'arrive') {
      (servers[what] as FifoServer).serve(now, halfCall());
      return;
    }
    const shard = shardOf[draw()] as number;
    for (let left = random() < burstShare ? size : 1; left > 0; left -= 1) {
      (servers[shard] as FifoServer).serve(now, halfCall());
      queue.add(now + durationSeconds, shard);
    }
    queue.add(now + exponential(1 / arrivalsPerSecond), 'arrive');
  };
  // From the first settlements on there are as many as calls.
  while (queue.takeBefore(durationSeconds, handle));
  for (const each of waits) each.clear();
  while (queue.takeBefore(durationSeconds + seconds, handle));
  const busiestWaits = waits.reduce((most, each) => (each.count > most.count ? each : most));
  return { busiest: toBusy(placementAt(0.5).busiest), busiestOfTwenty: toBusy(busiest), waits: busiestWaits };
}
