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

const read = (name: string) => readFile(join(repositoryRoot, 'deploy/observability', name), 'utf8');
const readDashboard = async (name: string) => dashboardSchema.parse(JSON.parse(await read(`${name}-dashboard.json`)));
const DASHBOARDS = ['inference', 'media'];

/** The time series behind the metrics that the operators' page lists: three of a histogram. */
async function readListedSeries(): Promise<string[]> {
  const page = await readFile(OPERATIONS_FILE, 'utf8');
  const rows = page.matchAll(/^\| `((?:turnpike|process)_\w+)` \| (counter|gauge|histogram) \|/gm);
  return Array.from(rows, ([, name, kind]) =>
    kind === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [String(name)],
  ).flat();
}

const namesIn = (text: string): string[] => text.match(/\b(?:turnpike|process)_\w+/g) ?? [];

it.each(DASHBOARDS)('the dashboard of %s asks for no metric that the operators’ page does not list', async (name) => {
  const { panels, templating } = await readDashboard(name);
  const queries = [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...templating.list.map(({ query }) => query),
  ];
  const asked = queries.flatMap(namesIn);
  const listed = new Set(await readListedSeries());

  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !listed.has(name))).toEqual([]);
});

it('the alerts go by no metric that the operators’ page does not list, and each stands there with what to do', async () => {
  const rules = await read('media-alerts.yaml');
  const listed = new Set(await readListedSeries());
  const asked = namesIn(rules.replaceAll(/^\s*#.*$/gm, ''));
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.filter((name) => !listed.has(name))).toEqual([]);
  const page = await readFile(OPERATIONS_FILE, 'utf8');
  const alerts = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, alert = '']) => alert);
  expect(alerts.length).toBeGreaterThan(5);
  expect(alerts.filter((alert) => !page.includes(`\`${alert}\``))).toEqual([]);
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
])('the dashboard of inference shows %s', async (_what, part) => {
  const { panels } = await readDashboard('inference');
  expect(panels.filter(({ targets }) => targets.some(({ expr }) => expr.includes(part)))).not.toEqual([]);
});

it.each([
  ['jobs by state', 'turnpike_jobs{'],
  ['the age of the queue', 'turnpike_job_oldest_seconds'],
  ['how long jobs take', 'turnpike_job_duration_seconds_bucket'],
  ['how they end', 'turnpike_jobs_ended_total'],
  ['what came of attempts', 'turnpike_backend_attempts_total'],
  ['which backends are out', 'turnpike_backend_state'],
  ['slots', 'turnpike_backend_slots_used'],
  ['the decoder', 'turnpike_decodings'],
  ['who was turned away from it', 'turnpike_decoder_refusals_total'],
  ['uploads', 'turnpike_upload_bytes'],
  ['bytes removed', 'turnpike_object_removed_bytes_total'],
  ['what is overdue', 'turnpike_jobs_overdue'],
])('the dashboard of media shows %s', async (_what, part) => {
  const { panels } = await readDashboard('media');
  expect(panels.filter(({ targets }) => targets.some(({ expr }) => expr.includes(part)))).not.toEqual([]);
});

it.each(DASHBOARDS)(
  'every legend of the dashboard of %s names a label that its query keeps, and every panel has an id of its own',
  async (name) => {
    const { panels } = await readDashboard(name);
    for (const { title, targets } of panels)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          expect({ title, kept: expr.match(/by \(([^)]*)\)/)?.[1]?.split(', ') }).toEqual({
            title,
            kept: expect.arrayContaining([label]),
          });
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  },
);
