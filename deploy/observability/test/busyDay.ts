/** A sample every 15 s, as the PodMonitor fetches them. */
export const INTERVAL_SECONDS = 15;
/** Little is asked of the region, then much, then more than its services may grow to, and then little again. */
export const PHASES = ['quiet', 'busy', 'flooded', 'quiet again'] as const;
export const PHASE_MINUTES = 5;

const SAMPLES = (PHASE_MINUTES * 60) / INTERVAL_SECONDS;
/** So many of each service, as in a region that has grown: one event loop is not busier than wholly. */
const PROCESSES = 24;

/** Amounts of the whole fleet in each phase. */
type Amounts = readonly [quiet: number, busy: number, flooded: number];

const REGION = 'turnpike-us';

/** The values of a region's processes over the day, in promtool's notation, by series. */
export const BUSY_DAY: Record<string, string> = {
  ...gauges('turnpike_open_calls', 'model-router', [100, 2_500, 90_000]),
  ...gauges('turnpike_open_calls', 'media-jobs', [10, 600, 600]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'edge', [0.2, 1.9, 20]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'auth', [0.2, 1.3, 20]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'catalog', [0.2, 1.4, 20]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'model-router', [0.4, 5.5, 20]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'usage-ledger', [0.3, 1.5, 20]),
  ...counters('turnpike_event_loop_busy_seconds_total', 'media-jobs', [0.3, 1.5, 20]),
  ...gauges('turnpike_event_loop_late_seconds', 'model-router', [0.05, 0.85, 24]),
  ...gauges('turnpike_event_loop_late_seconds', 'edge', [24, 24, 24]),
  ...counters('turnpike_requests_total', 'auth', [50, 1_500, 90_000], verified('200')),
  ...counters('turnpike_requests_total', 'auth', [5, 300, 90_000], verified('401')),
  ...counters(
    'turnpike_requests_total',
    'catalog',
    [10, 500, 90_000],
    'route="GET /v1/models", status="200", outcome="whole"',
  ),
  // Asked of every process every second or two, whatever clients do.
  ...counters(
    'turnpike_requests_total',
    'auth',
    [9_000, 9_000, 9_000],
    'route="GET /ready", status="200", outcome="whole"',
  ),
  ...counters(
    'turnpike_requests_total',
    'catalog',
    [9_000, 9_000, 9_000],
    'route="GET /ready", status="200", outcome="whole"',
  ),
  ...regional('turnpike_event_lag_records', 'usage-ledger', [20, 12_000, 900_000]),
  ...regional('turnpike_jobs', 'media-jobs', [1, 60, 9_000], 'model="clip", state="queued"'),
  ...regional('turnpike_jobs', 'media-jobs', [2, 70, 9_000], 'model="song", state="queued"'),
  ...regional('turnpike_jobs', 'media-jobs', [9_000, 9_000, 9_000], 'model="clip", state="running"'),
  ...gauges('turnpike_decodings', 'media-jobs', [1, 8, 90], 'state="running"'),
  ...gauges('turnpike_decodings', 'media-jobs', [0, 6, 400], 'state="waiting"'),
  ...gauges('turnpike_decodings', 'media-jobs', [2, 4, 90], 'state="converting"'),
};

function verified(status: string): string {
  return `route="POST /internal/keys/verify", status="${status}", outcome="whole"`;
}

/** Makes a gauge of each process, such that the fleet has these amounts in sum. */
function gauges(metric: string, service: string, amounts: Amounts, labels = ''): Record<string, string> {
  return shownBy(metric, service, labels, toGauge(amounts.map((amount) => amount / PROCESSES)));
}

/** Makes a counter of each process, such that the fleet grows by these amounts a second. */
function counters(metric: string, service: string, amounts: Amounts, labels = ''): Record<string, string> {
  return shownBy(metric, service, labels, toCounter(amounts.map((amount) => amount / PROCESSES)));
}

/** Makes a gauge by which every process reports the whole region. */
function regional(metric: string, service: string, amounts: Amounts, labels = ''): Record<string, string> {
  return shownBy(metric, service, labels, toGauge(amounts));
}

/** Another region, whose flood is none of this one's business, shows it all day. */
function shownBy(metric: string, service: string, labels: string, values: string): Record<string, string> {
  const at = (namespace: string, pod: number): string =>
    `${metric}{namespace="${namespace}", container="${service}", pod="${service}-${pod}"${labels && `, ${labels}`}}`;
  const shown = Array.from({ length: PROCESSES }, (_, pod) => [at(REGION, pod), values] as const);
  return Object.fromEntries([...shown, [at('turnpike-eu', 0), `0+1000000x${PHASES.length * SAMPLES}`]]);
}

function overTheDay([quiet = 0, busy = 0, flooded = 0]: readonly number[]): number[] {
  return [quiet, busy, flooded, quiet];
}

function toGauge(amounts: readonly number[]): string {
  return overTheDay(amounts)
    .map((amount) => `${amount}x${SAMPLES - 1}`)
    .join(' ');
}

function toCounter(amounts: readonly number[]): string {
  let count = 0;
  const values = overTheDay(amounts).flatMap((perSecond) =>
    Array.from({ length: SAMPLES }, () => {
      count += perSecond * INTERVAL_SECONDS;
      return count;
    }),
  );
  return values.join(' ');
}
