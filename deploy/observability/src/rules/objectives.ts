import type { Alert, Recording, RuleFile } from './rule.ts';

interface Objective {
  /** Recorded as `turnpike:<name>_errors:ratio_rate<window>`. */
  name: string;
  /** How alerts of it begin. */
  alerts: string;
  /** Part of the events that may be bad. */
  budget: number;
  /** The bad ones of all, as a part, over a window. */
  badPart: (window: string) => string;
  /** What is wrong where the budget burns, with `$labels` nowhere: it is of the region. */
  summary: string;
}

/** What clients are sent through: not health, metrics and unlisted paths. */
const CALLS = 'turnpike_requests_total{job="edge", route=~".* /v1/.*"';
const FIRST_TOKENS = 'turnpike_time_to_first_token_seconds';

/** What a region aims at, over 30 days. */
const OBJECTIVES: Objective[] = [
  {
    name: 'availability',
    alerts: 'Availability',
    budget: 0.001,
    badPart: (window) =>
      `(sum(rate(${CALLS}, status=~"5.."}[${window}])) or vector(0)) / sum(rate(${CALLS}}[${window}]))`,
    summary:
      '{{ $value | humanizePercentage }} of the calls of the last hours failed by our doing; the aim is 0.1 % at most',
  },
  {
    name: 'first_token',
    alerts: 'FirstToken',
    budget: 0.01,
    // Prometheus 3 writes the bound of a bucket as `5.0`.
    badPart: (window) =>
      `1 - sum(rate(${FIRST_TOKENS}_bucket{le=~"5|5.0"}[${window}])) / sum(rate(${FIRST_TOKENS}_count[${window}]))`,
    summary:
      'The first token of {{ $value | humanizePercentage }} of the streams of the last hours took longer ' +
      'than 5 s; the aim is 1 % at most',
  },
];

/**
 * How many times faster than evenly the budget burns, over a long window, and over a short one, so that it ends soon after its
 * cause. At 14.4 a fiftieth of 30 days' budget goes in an hour, at 6 a twentieth in six hours, at 3 and 1 a tenth in one day and
 * in three.
 */
const FAST = [
  { factor: 14.4, long: '1h', short: '5m' },
  { factor: 6, long: '6h', short: '30m' },
];
const SLOW = [
  { factor: 3, long: '1d', short: '2h' },
  { factor: 1, long: '3d', short: '6h' },
];
const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d'];

const nameOf = ({ name }: Objective, window: string): string => `turnpike:${name}_errors:ratio_rate${window}`;

const toRecordings = (objective: Objective): Recording[] =>
  WINDOWS.map((window) => ({ record: nameOf(objective, window), expr: objective.badPart(window) }));

const burns = (objective: Objective, pairs: typeof FAST): string =>
  pairs
    .map(({ factor, long, short }) => {
      const limit = Number((factor * objective.budget).toPrecision(6));
      return `(${nameOf(objective, long)} > ${limit} and ${nameOf(objective, short)} > ${limit})`;
    })
    .join('\nor ');

const toAlerts = (objective: Objective): Alert[] => [
  {
    alert: `${objective.alerts}BurnsFast`,
    expr: burns(objective, FAST),
    for: '2m',
    severity: 'page',
    summary: objective.summary,
  },
  {
    alert: `${objective.alerts}BurnsSlowly`,
    expr: burns(objective, SLOW),
    for: '15m',
    severity: 'ticket',
    summary: objective.summary,
  },
];

export const objectiveRules: RuleFile = {
  name: 'objectives',
  rules: OBJECTIVES.flatMap((objective) => [...toRecordings(objective), ...toAlerts(objective)]),
};
