import { seededRandom } from '../seededRandom.ts';
import { BATCH_CALLS, type Costs, LOOP_SHARE, MEASURED_BATCH } from './costs.ts';
import { EventQueue } from './eventQueue.ts';
import { FifoServer } from './fifoServer.ts';
import { BURSTS } from './simulateRegion.ts';
import { Waits } from './waits.ts';
import { createWorkspaceDraw, shareCalls } from './workspaces.ts';

const PARTITIONS = 12;
/** What comes is collected for so long. */
const COLLECT_SECONDS = 0.1;
/** A MiB of records of 0.6 KiB. */
const MOST_IN_A_BATCH = 1_700;
const POSTGRES_CORES = 4;
/** Until two disks have a commit: not measured here, a disk of a cloud. */
const COMMIT_SECONDS = 0.005;
const WARM_UP_SECONDS = 1;

export interface LedgerOptions {
  seed: number;
  costs: Costs;
  callsPerSecond: number;
  ledgers: number;
  seconds: number;
}

export interface LedgerResult {
  /** Work that came to each ledger's loop in a second, and to each core of Postgres. */
  busy: number[];
  postgresBusy: number;
  /** What the largest partition has of the calls. */
  largestPartition: number;
  /** From the log to the commit of a call's row, seconds. */
  lag: Waits;
  /** The same of the partition with the largest workspace. */
  largestLag: Waits;
}

/** Ledgers that share the partitions of the event log. A partition is a workspace's, and read in batches, one after the other. */
export function simulateLedgers({ seed, costs, callsPerSecond, ledgers, seconds }: LedgerOptions): LedgerResult {
  const random = seededRandom(seed);
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  const shares = shareCalls();
  const partitionOf = shares.map(() => Math.floor(random() * PARTITIONS));
  const draw = createWorkspaceDraw(shares, random);
  const loops = Array.from({ length: ledgers }, () => new FifoServer());
  const cores = Array.from({ length: POSTGRES_CORES }, () => ({ freeAt: 0 }));
  let postgresWork = 0;
  const lag = new Waits();
  const partitions = Array.from({ length: PARTITIONS }, () => ({
    waiting: [] as number[],
    isReading: false,
    lag: new Waits(),
    calls: 0,
  }));
  // A batch costs as much as some calls, and was measured with it.
  const perCall = MEASURED_BATCH / (MEASURED_BATCH + BATCH_CALLS);
  const toSeconds = (us: number, calls: number): number => us * 1e-6 * perCall * (calls + BATCH_CALLS);
  const queue = new EventQueue<
    { what: 'arrive' } | { what: 'read' | 'statement' | 'commit'; partition: number; endedAt: number[] }
  >();

  const handle = (now: number, happening: Parameters<Parameters<typeof queue.takeBefore>[1]>[1]): void => {
    if (happening.what === 'arrive') {
      const partition = partitionOf[draw()] as number;
      const of = partitions[partition] as (typeof partitions)[number];
      for (let left = random() < burstShare ? BURSTS.size : 1; left > 0; left -= 1) {
        of.waiting.push(now);
        of.calls += 1;
      }
      if (!of.isReading) collect(now, partition);
      queue.add(now + exponential(1 / arrivalsPerSecond), happening);
      return;
    }
    const { what, partition, endedAt } = happening;
    const of = partitions[partition] as (typeof partitions)[number];
    if (what === 'read') {
      const batch = of.waiting.splice(0, MOST_IN_A_BATCH);
      const work = toSeconds(costs.ledgerUs, batch.length) * LOOP_SHARE;
      const doneAt = (loops[partition % ledgers] as FifoServer).serve(now, work);
      queue.add(doneAt, { what: 'statement', partition, endedAt: batch });
    } else if (what === 'statement') {
      const core = cores.reduce((first, each) => (each.freeAt < first.freeAt ? each : first));
      const work = toSeconds(costs.postgresUs, endedAt.length);
      postgresWork += work;
      core.freeAt = Math.max(now, core.freeAt) + work;
      queue.add(core.freeAt + COMMIT_SECONDS, { what: 'commit', partition, endedAt });
    } else {
      for (const at of endedAt) {
        lag.add(now - at);
        of.lag.add(now - at);
      }
      of.isReading = false;
      if (of.waiting.length > 0) collect(now, partition);
    }
  };
  function collect(now: number, partition: number): void {
    (partitions[partition] as (typeof partitions)[number]).isReading = true;
    queue.add(now + COLLECT_SECONDS, { what: 'read', partition, endedAt: [] });
  }
  const { share, size } = BURSTS;
  const arrivalsPerSecond = callsPerSecond * (1 - share + share / size);
  const burstShare = share / size / (1 - share + share / size);
  queue.add(0, { what: 'arrive' });
  while (queue.takeBefore(WARM_UP_SECONDS, handle));
  for (const loop of loops) loop.work = 0;
  for (const each of partitions) {
    each.lag.clear();
    each.calls = 0;
  }
  lag.clear();
  postgresWork = 0;
  while (queue.takeBefore(WARM_UP_SECONDS + seconds, handle));
  const largest = partitions.reduce((most, each) => (each.calls > most.calls ? each : most));
  const calls = partitions.reduce((sum, each) => sum + each.calls, 0);
  return {
    busy: loops.map(({ work }) => work / seconds),
    postgresBusy: postgresWork / seconds / POSTGRES_CORES,
    largestPartition: largest.calls / calls,
    lag,
    largestLag: largest.lag,
  };
}
