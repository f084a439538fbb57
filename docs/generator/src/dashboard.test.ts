import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { OPERATIONS_FILE } from './operationsPage.ts';
import { repositoryRoot } from './repositoryRoot.ts';

const dashboardSchema = z.object({
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.string() })) }),
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
    }),
  ),
});

const readDashboard = async () =>
  dashboardSchema.parse(
    JSON.parse(await readFile(join(repositoryRoot, 'deploy/observability/inference-dashboard.json'), 'utf8')),
  );

/** The time series behind the metrics that the operators' page lists: three of a histogram. */
async function readListedSeries(): Promise<string[]> {
  const page = await readFile(OPERATIONS_FILE, 'utf8');
  const rows = page.matchAll(/^\| `((?:turnpike|process)_\w+)` \| (counter|gauge|histogram) \|/gm);
  return Array.from(rows, ([, name, kind]) =>
    kind === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [String(name)],
  ).flat();
}

it('the dashboard asks for no metric that the operators’ page does not list', async () => {
  const { panels, templating } = await readDashboard();
  const queries = [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...templating.list.map(({ query }) => query),
  ];
  const asked = queries.flatMap((query) => query.match(/\b(?:turnpike|process)_\w+/g) ?? []);
  const listed = new Set(await readListedSeries());

  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !listed.has(name))).toEqual([]);
});

it.each([
  ['prefix hit rate', 'kind="cached_prompt"'],
  ['the error of the cache estimate', 'turnpike_cache_estimate_error_ratio_sum'],
  ['why engines are chosen', 'turnpike_placements_total'],
  ['time to first token', 'turnpike_time_to_first_token_seconds_bucket'],
  ['tokens a second', 'turnpike_output_tokens_per_second_bucket'],
  ['the length of the queue', 'turnpike_queued_calls'],
  ['the wait in it', 'turnpike_queue_seconds_bucket'],
  ['retries', 'turnpike_engine_retries_total'],
  ['ejections', 'turnpike_engine_ejections_total'],
  ['the gate', 'turnpike_gate_open'],
  ['what a recovery waits for', 'turnpike_routers_overdue'],
])('the dashboard shows %s', async (_what, part) => {
  const { panels } = await readDashboard();
  expect(panels.filter(({ targets }) => targets.some(({ expr }) => expr.includes(part)))).not.toEqual([]);
});

it('every legend of the dashboard names a label that its query keeps, and every panel has an id of its own', async () => {
  const { panels } = await readDashboard();
  for (const { title, targets } of panels)
    for (const { expr, legendFormat } of targets)
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        expect({ title, kept: expr.match(/by \(([^)]*)\)/)?.[1]?.split(', ') }).toEqual({
          title,
          kept: expect.arrayContaining([label]),
        });
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});
