import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { runToEnd } from '@turnpike/local-stack/process/runToEnd';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { parse, stringify } from 'yaml';
import { BUSY_DAY, INTERVAL_SECONDS, PHASE_MINUTES, PHASES } from './busyDay.ts';
import { inTemporaryFolder } from './checkRules.ts';
import { readSelectors } from './promql.ts';
import { readScalers, type Scaler } from './readScalers.ts';

const WANTED = 'turnpike:wanted_replicas';

/** How many replicas each signal wants on the busy part of the day: more than at least, and fewer than at most. */
const WHEN_BUSY: Record<string, Record<string, number>> = {
  edge: { turnpike_open_calls: 4, turnpike_event_loop_busy_seconds_total: 4 },
  auth: { turnpike_requests_total: 5, turnpike_event_loop_busy_seconds_total: 3 },
  catalog: { turnpike_requests_total: 3, turnpike_event_loop_busy_seconds_total: 3 },
  'model-router': {
    ...{ turnpike_open_calls: 7, turnpike_event_loop_busy_seconds_total: 10 },
    turnpike_event_loop_late_seconds: 9,
  },
  'usage-ledger': { turnpike_event_lag_records: 3, turnpike_event_loop_busy_seconds_total: 3 },
  'media-jobs': { turnpike_jobs: 3, turnpike_decodings: 5 },
};

let scalers: Scaler[];
beforeAll(async () => {
  scalers = await readScalers('turnpike-us');
});

/** The one series that a trigger goes by. */
function metricOf(query: string): string {
  const [selector, ...others] = readSelectors(query);
  if (selector === undefined || others.length > 0) throw new Error(`${query} does not go by one series`);
  return selector.series;
}

/** Rules that record what KEDA and its autoscaler make of each trigger, without how fast they follow. */
const toRules = (scaler: Scaler) =>
  scaler.triggers.map(({ query, threshold }) => ({
    record: WANTED,
    expr: `clamp(ceil((${query}) / ${threshold}), ${scaler.least}, ${scaler.most})`,
    labels: { service: scaler.service, metric: metricOf(query) },
  }));

/** Throws with what Prometheus says where a signal wants another number of replicas at the end of a phase. */
const testReplicas = (wantedOf: (scaler: Scaler, metric: string) => readonly number[]): Promise<void> =>
  inTemporaryFolder(async (folder) => {
    const [file, rules] = [join(folder, 'tests.yaml'), join(folder, 'rules.yaml')];
    const interval = `${INTERVAL_SECONDS}s`;
    await writeFile(rules, stringify({ groups: [{ name: 'scaling', rules: scalers.flatMap(toRules) }] }));
    const looks = PHASES.map((_, phase) => ({
      expr: WANTED,
      eval_time: `${(phase + 1) * PHASE_MINUTES * 60 - INTERVAL_SECONDS}s`,
      exp_samples: scalers.flatMap((scaler) =>
        toRules(scaler).map(({ labels: { service, metric } }) => ({
          labels: `${WANTED}{service="${service}", metric="${metric}"}`,
          value: wantedOf(scaler, metric)[phase],
        })),
      ),
    }));
    const day = {
      ...{ name: 'a busy day', interval, promql_expr_test: looks },
      input_series: Object.entries(BUSY_DAY).map(([series, values]) => ({ series, values })),
    };
    await writeFile(file, stringify({ rule_files: [rules], evaluation_interval: interval, tests: [day] }));
    await runToEnd('promtool test rules', { command: 'promtool', args: ['test', 'rules', file] });
  });

const asItShould = ({ service, least, most }: Scaler, metric: string): readonly number[] => [
  ...[least, WHEN_BUSY[service]?.[metric] ?? 0],
  ...[most, least],
];

it('has an autoscaler for every service, and says how many replicas each of its signals wants', () => {
  expect(scalers.map(({ service }) => service).sort()).toEqual([...SERVICE_NAMES].sort());
  for (const { service, least, most, triggers } of scalers) {
    const wanted = WHEN_BUSY[service] ?? {};
    expect(triggers.map(({ query }) => metricOf(query)).sort()).toEqual(Object.keys(wanted).sort());
    // One replica for each threshold of the sum: what is divided here.
    expect([...new Set(triggers.map(({ kind }) => kind))]).toEqual(['AverageValue']);
    for (const replicas of Object.values(wanted)) {
      expect(replicas).toBeGreaterThan(least);
      expect(replicas).toBeLessThan(most);
    }
  }
});

it('has more replicas where more is asked, no more than there may be, and few again when it is over', async () => {
  await testReplicas(asItShould);
});

it('is told by the test of signals when one wants too few or does not let go', async () => {
  const butOne = (phase: number) => (scaler: Scaler, metric: string) =>
    asItShould(scaler, metric).map((replicas, index) =>
      index === phase && metric === 'turnpike_jobs' ? replicas + 1 : replicas,
    );
  await expect(testReplicas(butOne(1))).rejects.toThrow('turnpike_jobs');
  await expect(testReplicas(butOne(3))).rejects.toThrow('turnpike_jobs');
});

it('looks back over at least two samples, as often as the region’s PodMonitor has them fetched', async () => {
  const monitor = parse(await readFile(join(repositoryRoot, 'k8s/components/monitoring/pod-monitor.yaml'), 'utf8'));
  expect(monitor.spec.podMetricsEndpoints[0].interval).toBe(`${INTERVAL_SECONDS}s`);
  const spans = scalers.flatMap(({ triggers }) =>
    triggers.flatMap(({ query }) => Array.from(query.matchAll(/\[(\w+)\]/g), ([, span]) => span)),
  );
  expect(new Set(spans)).toEqual(new Set(['1m']));
  expect(60).toBeGreaterThanOrEqual(2 * INTERVAL_SECONDS);
});

it('counts requests of routes that there are', async () => {
  const files = await Array.fromAsync(glob('{libs,services}/*/src/**/*.ts', { cwd: repositoryRoot }));
  const code = (await Promise.all(files.map((file) => readFile(join(repositoryRoot, file), 'utf8')))).join('\n');
  const routes = scalers
    .flatMap(({ triggers }) => triggers.flatMap(({ query }) => readSelectors(query)))
    .flatMap(({ matchers }) => matchers.filter(({ label }) => label === 'route').map(({ value }) => value));
  expect(routes).toHaveLength(2);
  for (const route of routes) expect(code).toContain(`path: '${route.split(' ')[1]}'`);
});
