import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { REGION_SERVICES } from '@turnpike/config/services';
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

/** A series that every process has from its start. It shows that pods are scraped while other series do not exist yet. */
const SAYS_SCRAPED = 'turnpike_event_loop_busy_seconds_total';
/** Metrics without a series before their first event. */
const MAY_BE_MISSING = ['turnpike_requests_total', 'turnpike_jobs'];

/** Returns the one series that a trigger uses. */
function metricOf(query: string): string {
  const [selector, ...others] = readSelectors(query);
  if (selector === undefined || others.some(({ series }) => series !== SAYS_SCRAPED))
    throw new Error(`${query} does not go by one series`);
  return selector.series;
}

/** Rules that record what KEDA and its autoscaler make of each trigger, without how fast they follow. */
const toRules = (scaler: Scaler) =>
  scaler.triggers.map(({ query, threshold }) => ({
    record: WANTED,
    expr: `clamp(ceil((${query}) / ${threshold}), ${scaler.least}, ${scaler.most})`,
    labels: { service: scaler.service, metric: metricOf(query) },
  }));

/** Throws with what Prometheus says where queries have other answers, a number or none, while it has these series. */
const testAnswers = (series: Record<string, string>, answers: { query: string; answer: number | undefined }[]) =>
  inTemporaryFolder(async (folder) => {
    const file = join(folder, 'tests.yaml');
    const looks = answers.map(({ query, answer }) => ({
      expr: query,
      eval_time: '5m',
      exp_samples: answer === undefined ? [] : [{ labels: '{}', value: answer }],
    }));
    const shown = Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const moment = { name: 'a moment', interval: `${INTERVAL_SECONDS}s`, promql_expr_test: looks, input_series: shown };
    await writeFile(file, stringify({ evaluation_interval: '1m', tests: [moment] }));
    await runToEnd('promtool test rules', { command: 'promtool', args: ['test', 'rules', file] });
  });

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
  expect(scalers.map(({ service }) => service).sort()).toEqual([...REGION_SERVICES].sort());
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

it('takes a query without an answer for an error, so that a Prometheus that finds no pods does not scale a region down', async () => {
  const triggers = scalers.flatMap((scaler) => scaler.triggers);
  for (const { query, wantsAnswer } of triggers) expect({ query, wantsAnswer }).toEqual({ query, wantsAnswer: true });
  // All series of another region are there.
  const ofOthers = Object.entries(BUSY_DAY).filter(([series]) => !series.includes('namespace="turnpike-us"'));
  expect(ofOthers.length).toBeGreaterThan(10);
  const unanswered = triggers.map(({ query }) => ({ query, answer: undefined }));
  await testAnswers(Object.fromEntries(ofOthers), unanswered);
  // The target is known, but its scrape fails.
  const up = 'up{namespace="turnpike-us", container="auth", pod="auth-0", job="auth", instance="auth-0"}';
  await testAnswers({ [up]: '0x40' }, unanswered);
});

it('answers 0 for what has not happened yet where its pods are scraped', async () => {
  const withLiveness = scalers.flatMap(({ service, triggers }) =>
    triggers.filter(({ query }) => readSelectors(query).length > 1).map(({ query }) => ({ service, query })),
  );
  expect(withLiveness.map(({ query }) => metricOf(query)).sort()).toEqual(
    [...MAY_BE_MISSING, MAY_BE_MISSING[0]].sort(),
  );
  const scraped = (service: string): Record<string, string> => ({
    [`${SAYS_SCRAPED}{namespace="turnpike-us", container="${service}", pod="${service}-0"}`]: '0+1x40',
  });
  for (const { service, query } of withLiveness) {
    await testAnswers(scraped(service), [{ query, answer: 0 }]);
    // Only those that would tell of it count.
    await testAnswers(scraped('edge'), [{ query, answer: undefined }]);
  }
});

it('is told by the test of answers when a query hides that nothing is scraped', async () => {
  const hiding = scalers.flatMap(({ triggers }) =>
    triggers.map(({ query }) => ({ query: `${query} or vector(0)`, answer: undefined })),
  );
  await expect(testAnswers({ up: '0x40' }, hiding)).rejects.toThrow('vector(0)');
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
