import { seededRandom } from '../seededRandom.ts';
import { EventQueue } from './eventQueue.ts';
import { FifoServer } from './fifoServer.ts';
import { Waits } from './waits.ts';

const SERVICE_SECONDS = 30e-6;
export interface KnownQueueOptions {
  seed: number;
  busy: number;
  /** The mean of a million waits is a percent off as a rule where a server is 0.8 busy. */
  customers: number;
}

/** A server to which work comes by chance: what is known of it, and what the simulation's own parts make of it. */
export interface KnownQueue {
  name: string;
  known: number;
  simulated: number;
}

/** What theory says of one server with Poisson arrivals: constant work (Pollaczek and Khinchine), and exponential work, whose waits are too. */
export function simulateKnownQueues(options: KnownQueueOptions): KnownQueue[] {
  const { busy } = options;
  const constant = simulate(options, () => SERVICE_SECONDS);
  const exponential = simulate(options, (random) => -SERVICE_SECONDS * Math.log(1 - random()));
  return [
    {
      name: `M/D/1 at ${busy}: mean wait`,
      known: (busy / (2 * (1 - busy))) * SERVICE_SECONDS,
      simulated: constant.mean,
    },
    { name: `M/M/1 at ${busy}: mean wait`, known: (busy / (1 - busy)) * SERVICE_SECONDS, simulated: exponential.mean },
    {
      name: `M/M/1 at ${busy}: p99 of waits`,
      known: (Math.log(busy / 0.01) / (1 - busy)) * SERVICE_SECONDS,
      simulated: exponential.percentile(0.99),
    },
  ];
}

function simulate({ seed, busy, customers }: KnownQueueOptions, work: (random: () => number) => number): Waits {
  const random = seededRandom(seed);
  const waits = new Waits();
  const server = new FifoServer(waits);
  const queue = new EventQueue<'arrive'>();
  queue.add(0, 'arrive');
  const handle = (now: number): void => {
    server.serve(now, work(random));
    queue.add(now - (SERVICE_SECONDS / busy) * Math.log(1 - random()), 'arrive');
  };
  while (waits.count < customers) queue.takeBefore(Number.POSITIVE_INFINITY, handle);
  return waits;
}
