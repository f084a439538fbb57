import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { REGION_SERVICES } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { checkQueries, checkRules } from './checkRules.ts';
import { HEALTHY } from './healthyRegion.ts';
import { readSelectors } from './promql.ts';
import { ALERTS, GLOBAL_ALERTS, RULES } from './readRules.ts';
import { FILES, testRules, toRunbook, toTest } from './testRules.ts';

it('has rules that Prometheus reads', async () => {
  await checkRules(FILES);
  await checkQueries(GLOBAL_ALERTS.map(({ expr }) => expr));
});

it('fires nothing in a healthy region, in which there is everything that alerts go by', async () => {
  const asked = [...RULES, ...GLOBAL_ALERTS]
    .flatMap(({ expr }) => readSelectors(expr))
    .map(({ series }) => series)
    .filter((series) => !series.includes(':'));
  const shown = new Set(Object.keys(HEALTHY).map((series) => series.split('{')[0]));
  expect(asked.filter((series) => !shown.has(series))).toEqual([]);

  await testRules([toTest('healthy', {})]);
});

it('asks of every service whether it is there', () => {
  const exprOf = (name: string) => ALERTS.find(({ alert }) => alert === name)?.expr;
  const jobs = REGION_SERVICES.join('|');
  const absent = REGION_SERVICES.map((service) => `\nor absent(up{job="${service}"})`).join('');
  expect(exprOf('ServiceDown')).toBe(`max by (job) (up{job=~"${jobs}"}) == 0${absent}`);
  expect(exprOf('ReplicaDown')).toBe(`up{job=~"${jobs}"} == 0`);
});

it('tells of every alert what to do: its entry in docs/alerts.md begins with how soon', async () => {
  const alerts = [...ALERTS, ...GLOBAL_ALERTS];
  const page = await readFile(join(repositoryRoot, 'docs/alerts.md'), 'utf8');
  const entries = Array.from(page.matchAll(/^## (\w+)\n\n\*\*(Page|Ticket)\.\*\* /gm), ([, alert, severity]) => ({
    alert,
    severity: severity?.toLowerCase(),
  }));
  expect(entries).toEqual(
    expect.arrayContaining(alerts.map(({ alert, labels: { severity } }) => ({ alert, severity }))),
  );
  expect(entries).toHaveLength(alerts.length);
  for (const { alert, annotations } of alerts) expect(annotations.runbook_url).toBe(toRunbook(alert));
});
