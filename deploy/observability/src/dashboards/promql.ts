/** One query of a panel. Its legend may name labels that the query keeps: `{{model}}`. */
export interface Line {
  expr: string;
  legend: string;
}

/** What a counter grows by a second, added up over all processes; by these labels, where some are named. */
export const perSecond = (counter: string, by?: string): string =>
  `sum${keeping(by)}(rate(${counter}[$__rate_interval]))`;

/** What a counter grew by within so long, added up over all processes. */
export const growth = (counter: string, within: string, by?: string): string =>
  `sum${keeping(by)}(increase(${counter}[${within}]))`;

/** A quantile of a histogram, of all processes together. `where` is what its series are chosen by. */
export const quantile = (q: number, histogram: string, where = '', by?: string): string => {
  const kept = by === undefined ? 'le' : `le, ${by}`;
  return `histogram_quantile(${q}, sum by (${kept}) (rate(${histogram}_bucket${where}[$__rate_interval])))`;
};

/** The median of a histogram and its 99th percentile, by a label. */
export const medianAndTail = (histogram: string, by: string, where = ''): Line[] => [
  { expr: quantile(0.5, histogram, where, by), legend: `p50 {{${by}}}` },
  { expr: quantile(0.99, histogram, where, by), legend: `p99 {{${by}}}` },
];

const keeping = (by: string | undefined): string => (by === undefined ? '' : ` by (${by}) `);
