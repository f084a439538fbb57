import { seededRandom } from '../seededRandom.ts';
import { type Connection, ConnectionPool, PodGroup } from './connectionPool.ts';
import { EventQueue } from './eventQueue.ts';
import { type Load, openStreams } from './load.ts';
import { EDGE_CONNECTIONS } from './simulateRegion.ts';

/** From the end of one router until the next one ends: its streams have ended, and another stands in its place. */
const SECONDS_A_POD = 10;
const AWAY_SECONDS = 8;
const SAMPLE_SECONDS = 1;

export interface RolloutOptions {
  seed: number;
  load: Load;
  edges: number;
  routers: number;
  /** Of connections from edges to routers; undefined where they are used for as long as they stand. */
  maxAgeSeconds?: number | undefined;
  /** What is looked at after the last one. */
  secondsAfter: number;
}

/** Open streams of the busiest and of the idlest router, in parts of the mean. */
export interface Spread {
  most: number;
  least: number;
}

export interface RolloutResult {
  /** By seconds: before the first router ends, and from the return of the last one on. */
  before: Spread;
  after: Spread[];
}

type Happening =
  | { what: 'arrive' }
  | { what: 'end'; edge: number; connection: Connection }
  | { what: 'leave'; router: number }
  | { what: 'join'; router: number };

/** How open streams lie on routers of which one after the other is replaced, as edges keep the connections that they have. */
export function simulateRollout({
  seed,
  load,
  edges,
  routers,
  maxAgeSeconds,
  secondsAfter,
}: RolloutOptions): RolloutResult {
  const random = seededRandom(seed);
  const group = new PodGroup(routers, random);
  const pools = Array.from(
    { length: edges },
    () => new ConnectionPool(group, { idleSeconds: EDGE_CONNECTIONS.idleSeconds, maxAgeSeconds, random }),
  );
  const open = new Array<number>(routers).fill(0);
  const durationSeconds = load.chunks * load.everySeconds;
  const queue = new EventQueue<Happening>();

  function begin(now: number, lastsSeconds: number): void {
    const edge = Math.floor(random() * edges);
    const connection = (pools[edge] as ConnectionPool).take(now);
    open[connection.pod] = (open[connection.pod] ?? 0) + 1;
    queue.add(now + lastsSeconds, { what: 'end', edge, connection });
  }
  function handle(now: number, happening: Happening): void {
    switch (happening.what) {
      case 'arrive':
        begin(now, durationSeconds);
        queue.add(now - Math.log(1 - random()) / load.callsPerSecond, happening);
        break;
      case 'end': {
        const { edge, connection } = happening;
        open[connection.pod] = (open[connection.pod] ?? 0) - 1;
        (pools[edge] as ConnectionPool).release(connection, now);
        break;
      }
      case 'leave':
        group.leave(happening.router);
        break;
      case 'join':
        group.join(happening.router, 1);
        break;
    }
  }
  const readSpread = (): Spread => {
    const mean = open.reduce((sum, each) => sum + each, 0) / routers;
    return { most: Math.max(...open) / mean, least: Math.min(...open) / mean };
  };

  for (let count = 0; count < openStreams(load); count += 1) begin(0, random() * durationSeconds);
  queue.add(0, { what: 'arrive' });
  for (let router = 0; router < routers; router += 1) {
    const leavesAt = (router + 1) * SECONDS_A_POD;
    queue.add(leavesAt, { what: 'leave', router });
    queue.add(leavesAt + AWAY_SECONDS, { what: 'join', router });
  }
  const runUntil = (until: number): void => {
    while (queue.takeBefore(until, handle));
  };
  runUntil(SECONDS_A_POD);
  const before = readSpread();
  const overAt = routers * SECONDS_A_POD + AWAY_SECONDS;
  const after: Spread[] = [];
  for (let second = 0; second <= secondsAfter; second += SAMPLE_SECONDS) {
    runUntil(overAt + second);
    after.push(readSpread());
  }
  return { before, after };
}
