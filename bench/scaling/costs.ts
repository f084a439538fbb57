/** What a machine needs for a call: processor time of all threads, µs; and memory. */
export interface Costs {
  /** Whose they are. */
  name: string;
  edge: PartCosts;
  router: PartCosts;
  redisUs: number;
  ledgerUs: number;
  postgresUs: number;
}

export interface PartCosts {
  /** A whole answer, or all of a stream but its chunks. */
  callUs: number;
  chunkUs: number;
  /** What an open stream keeps in memory. */
  streamKiB: number;
}

/**
 * A fast day: run B of docs/performance.md (bench/results/2026-11-24T034040.json; nginx took 15.2 µs a whole answer and 12.8 a chunk),
 * with the parts of the edge and the router as the run printed them. It did not measure memory: that is of run A.
 */
const FAST: Costs = {
  name: 'B',
  edge: { callUs: 70, chunkUs: 20, streamKiB: 27 },
  router: { callUs: 209, chunkUs: 32, streamKiB: 37 },
  ...{ redisUs: 81, ledgerUs: 29, postgresUs: 47 },
};

/** Sums of the edge and the router in run C: a file of results has no parts of a sum. 21.2 × 30.6 and 3.90 × 24.0 µs. */
const [SLOW_CALL_US, SLOW_CHUNK_US] = [650, 93.6];

/** A part's share of a sum, as in run B. */
const shareOf = (part: 'edge' | 'router', cost: 'callUs' | 'chunkUs'): number =>
  FAST[part][cost] / (FAST.edge[cost] + FAST.router[cost]);

const slowPart = (part: 'edge' | 'router', streamKiB: number): PartCosts => ({
  callUs: SLOW_CALL_US * shareOf(part, 'callUs'),
  chunkUs: SLOW_CHUNK_US * shareOf(part, 'chunkUs'),
  streamKiB,
});

/**
 * A slow day: run C (bench/results/2026-11-26T002247.json; nginx took 30.6 and 24.0 µs). Run D (2026-11-26T030551.json), hours
 * later and on as slow a day, has the same ratios for chunks, and for whole answers swings around them.
 */
const SLOW: Costs = {
  name: 'C',
  edge: slowPart('edge', 29),
  router: slowPart('router', 48),
  ...{ redisUs: 139, ledgerUs: 64, postgresUs: 72 },
};

export const MACHINES: readonly Costs[] = [FAST, SLOW];

/** V8's helper threads take a fifth of what the main thread takes, so a loop is held up for this part of a cost. */
export const LOOP_SHARE = 1 / 1.2;

/** A batch of the ledger costs about as much as so many calls in it. */
export const BATCH_CALLS = 30;
/** Calls in each batch while the ledger's and Postgres' cost of a call was measured: 100 ms of some 2,000 a second. */
export const MEASURED_BATCH = 200;
