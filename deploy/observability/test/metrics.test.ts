import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { BOARDS, GLOBAL_BOARDS } from '../src/observabilityFiles.ts';
import { BUSY_DAY } from './busyDay.ts';
import { HEALTHY } from './healthyRegion.ts';
import { readMeasuredSeries } from './measuredSeries.ts';
import { readGroupings, readSelectors } from './promql.ts';
import { GLOBAL_ALERTS, RULES } from './readRules.ts';
import { readScalers } from './readScalers.ts';

/** Labels that Prometheus adds to every scraped series. */
const OF_TARGET = ['job', 'instance'];
/** Labels that Prometheus adds to the series of a pod. */
const OF_POD = ['namespace', 'container', 'pod'];
/** Series that Prometheus itself makes. */
const OF_PROMETHEUS = new Map([
  ['up', new Set<string>()],
  ['ALERTS', new Set(['alertname', 'alertstate', 'severity'])],
]);

const QUERIES = {
  rules: [...RULES, ...GLOBAL_ALERTS].map(({ expr }) => expr),
  dashboards: [...BOARDS, ...GLOBAL_BOARDS].flatMap(({ rows, variables }) => [
    ...rows.flatMap(({ panels }) => panels.flatMap(({ lines }) => lines.map(({ expr }) => expr))),
    ...variables.map(({ metric, label }) => `count by (${label}) (${metric})`),
  ]),
  autoscalers: (await readScalers('turnpike-us')).flatMap(({ triggers }) => triggers.map(({ query }) => query)),
};

let known: Map<string, Set<string>>;
beforeAll(async () => {
  const recorded = RULES.flatMap((rule) => ('record' in rule ? [[rule.record, new Set<string>()] as const] : []));
  known = new Map([...(await readMeasuredSeries()), ...OF_PROMETHEUS, ...recorded]);
});

/** Finds the series, and labels of series, in a query that no service measures. */
function findUnknown(query: string, added: string[] = OF_TARGET): string[] {
  const selectors = readSelectors(query);
  const labelsOf = (series: string): Set<string> => new Set([...(known.get(series) ?? []), ...added]);
  const all = new Set(selectors.flatMap(({ series }) => [...labelsOf(series)]));
  return [
    ...selectors.filter(({ series }) => !known.has(series)).map(({ series }) => series),
    ...selectors.flatMap(({ series, matchers }) =>
      matchers.filter(({ label }) => !labelsOf(series).has(label)).map(({ label }) => `${series}{${label}}`),
    ),
    ...readGroupings(query).filter((label) => !all.has(label)),
  ];
}

it.each([
  ['rules', 50, OF_TARGET],
  ['dashboards', 150, OF_TARGET],
  ['autoscalers', 10, OF_POD],
] as const)('the %s ask for no metric and no label that the fleet does not measure', (which, atLeast, added) => {
  expect(QUERIES[which].flatMap(readSelectors).length).toBeGreaterThan(atLeast);
  expect(QUERIES[which].flatMap((query) => findUnknown(query, [...added]))).toEqual([]);
});

it.each([
  ['turnpike_calls_sum', ['turnpike_calls_sum']],
  ['rate(turnpike_calls_total{engine="e"}[5m])', ['turnpike_calls_total{engine}']],
  ['sum by (job, engine) (turnpike_calls_total)', ['engine']],
  ['turnpike:nothing:ratio_rate5m', ['turnpike:nothing:ratio_rate5m']],
  ['sum by (status) (rate(turnpike_calls_total{status="success"}[5m])) / sum(up)', []],
])('it is seen what is not measured of %s', (query, unknown) => {
  expect(findUnknown(query)).toEqual(unknown);
});

it.each([
  ['alerts', HEALTHY, OF_TARGET],
  ['autoscalers', BUSY_DAY, OF_POD],
])('tests %s with series that the fleet measures, with all of their labels', (_what, shown, added) => {
  for (const text of Object.keys(shown)) {
    const [{ series, matchers } = { series: text, matchers: [] }] = readSelectors(text);
    const labels = matchers.map(({ label }) => label).sort();
    expect({ series, labels }).toEqual({ series, labels: [...added, ...(known.get(series) ?? [])].sort() });
  }
});

it('knows every metric that docs/metrics.md lists', async () => {
  const page = await readFile(join(repositoryRoot, 'docs/metrics.md'), 'utf8');
  const listed = Array.from(
    page.matchAll(/^\| `((?:turnpike|process)_\w+)` \| (counter|gauge|histogram) \|/gm),
    ([, name, kind]) => (kind === 'histogram' ? `${name}_count` : String(name)),
  );
  expect(listed.length).toBeGreaterThan(50);
  expect(listed.filter((series) => !known.has(series))).toEqual([]);
});

it('chooses by words that the fleet’s code says', async () => {
  const files = await Array.fromAsync(
    glob('{libs,services}/*/src/**/*.ts', { cwd: repositoryRoot, exclude: ['**/generated/**', '**/*.test.ts'] }),
  );
  const code = (await Promise.all(files.map((file) => readFile(join(repositoryRoot, file), 'utf8')))).join('\n');
  const words = Object.values(QUERIES)
    .flat()
    .flatMap(readSelectors)
    .filter(({ series }) => series !== 'ALERTS')
    .flatMap(({ matchers }) => matchers.flatMap(({ value }) => value.split('|')))
    .filter((value) => /^[a-z_]+$/.test(value));
  expect(words.length).toBeGreaterThan(20);
  expect(words.filter((word) => !code.includes(`'${word}'`) && !code.includes(` ${word}:`))).toEqual([]);
});
