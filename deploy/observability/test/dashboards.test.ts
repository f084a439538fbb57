import { expect, it } from '@jest/globals';
import { readAlertLimit } from '../src/alertLimits.ts';
import { BOARDS, GLOBAL_BOARDS } from '../src/observabilityFiles.ts';
import { toDashboard } from '../src/toDashboard.ts';
import { checkQueries } from './checkRules.ts';

const ALL_BOARDS = [...BOARDS, ...GLOBAL_BOARDS];
const PANELS = ALL_BOARDS.flatMap(({ id, rows }) =>
  rows.flatMap(({ panels }) => panels.map((panel) => ({ id, ...panel }))),
);
const LINES = PANELS.flatMap(({ id, title, lines }) => lines.map((line) => ({ id, title, ...line })));

it('asks Prometheus in queries that it reads', async () => {
  expect(LINES.length).toBeGreaterThan(100);
  // Grafana replaces the variables by values of this form.
  await checkQueries(LINES.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$\w+/g, 'x')));
});

it('is told of a query that Prometheus does not read', async () => {
  await expect(checkQueries(['sum(up', 'up'])).rejects.toThrow('unclosed left parenthesis');
});

it('has one dashboard an id, and no panel twice in one', () => {
  expect(new Set(ALL_BOARDS.map(({ id }) => id)).size).toBe(ALL_BOARDS.length);
  const names = PANELS.map(({ id, title }) => `${id}: ${title}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it('draws the limit of an alert where a panel names the alert', () => {
  expect(PANELS.filter(({ limit }) => limit !== undefined).length).toBeGreaterThan(10);
  expect(PANELS.find(({ id, title }) => id === 'books' && title === 'Spool')?.limit).toBe(0.5);

  const [books] = BOARDS.filter(({ id }) => id === 'books').map(toDashboard);
  expect(books?.panels).toContainEqual(
    expect.objectContaining({
      title: 'Spool',
      fieldConfig: expect.objectContaining({
        defaults: expect.objectContaining({
          custom: { thresholdsStyle: { mode: 'dashed' } },
          thresholds: { mode: 'absolute', steps: [expect.anything(), { value: 0.5, color: 'red' }] },
        }),
      }),
    }),
  );
});

it('draws no limit of an alert that is not there, or whose expression ends in none', () => {
  expect(() => readAlertLimit('NoSuchAlert')).toThrow('NoSuchAlert is no alert');
  expect(() => readAlertLimit('ServiceDown')).toThrow('ServiceDown is no alert');
});

it('names in each legend only labels that the query keeps', () => {
  let named = 0;
  for (const { id, title, expr, legend } of LINES)
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) {
      named += 1;
      const kept = expr.match(/by \(([^)]*)\)/)?.[1]?.split(', ');
      expect({ id, title, kept }).toEqual({ id, title, kept: expect.arrayContaining([label]) });
    }
  expect(named).toBeGreaterThan(50);
});

it('lets nobody choose what no query of the dashboard goes by', () => {
  for (const { id, variables } of ALL_BOARDS)
    for (const { label } of variables)
      expect({ id, label, used: LINES.filter((line) => line.id === id && line.expr.includes(`"$${label}"`)) }).toEqual({
        ...{ id, label },
        used: expect.arrayContaining([expect.anything()]),
      });
});

it.each([
  ['inference', 'prefix hit rate', 'kind="cached_prompt"'],
  ['inference', 'the error of the cache estimate', 'turnpike_cache_estimate_error_ratio_sum'],
  ['inference', 'why engines are chosen', 'turnpike_placements_total'],
  ['inference', 'time to first token', 'turnpike_time_to_first_token_seconds_bucket'],
  ['inference', 'tokens a second', 'turnpike_output_tokens_per_second_bucket'],
  ['inference', 'the length of the queue', 'turnpike_queued_calls'],
  ['inference', 'the wait in it', 'turnpike_queue_seconds_bucket'],
  ['inference', 'retries', 'turnpike_engine_retries_total'],
  ['inference', 'ejections', 'turnpike_engine_ejections_total'],
  ['inference', 'the gate', 'turnpike_gate_open'],
  ['inference', 'what a recovery waits for', 'turnpike_routers_overdue'],
  ['media', 'jobs by state', 'turnpike_jobs{'],
  ['media', 'the age of the queue', 'turnpike_job_oldest_seconds'],
  ['media', 'how long jobs take', 'turnpike_job_duration_seconds_bucket'],
  ['media', 'how they end', 'turnpike_jobs_ended_total'],
  ['media', 'what came of attempts', 'turnpike_backend_attempts_total'],
  ['media', 'which backends are out', 'turnpike_backend_state'],
  ['media', 'slots', 'turnpike_backend_slots_used'],
  ['media', 'the decoder', 'turnpike_decodings'],
  ['media', 'who was turned away from it', 'turnpike_decoder_refusals_total'],
  ['media', 'uploads', 'turnpike_upload_bytes'],
  ['media', 'bytes removed', 'turnpike_object_removed_bytes_total'],
  ['media', 'what is overdue', 'turnpike_jobs_overdue'],
  ['books', 'when they were checked', 'turnpike_ledger_reconciled_timestamp_seconds'],
  ['books', 'sums that differ', 'turnpike_ledger_mismatch_total'],
  ['books', 'what is not recorded yet', 'turnpike_event_lag_records'],
  ['books', 'which ledger reads how much of the event log', 'turnpike_event_partitions'],
  ['books', 'dead letters', 'turnpike_ledger_dead_letters'],
  ['books', 'spools', 'turnpike_spool_bytes'],
  ['edge', 'errors of ours', 'turnpike:availability_errors:ratio_rate5m'],
  ['edge', 'the flood limit', 'flood_limit_exceeded'],
  ['edge', 'refusals of the console host', 'invalid_console_token'],
  ['edge', 'floods of the console host', 'too_many_requests'],
  ['control-plane', 'mails that wait', 'turnpike_mails_waiting'],
  ['control-plane', 'the age of the oldest mail', 'turnpike_mail_oldest_seconds'],
  ['control-plane', 'attempts to send mails', 'turnpike_mail_attempts_total'],
  ['control-plane', 'which providers answer', 'turnpike_provider_answers'],
  ['control-plane', 'sign-ins that providers fail', 'turnpike_provider_failures_total'],
  ['control-plane', 'webhooks about money that wait', 'turnpike_payment_event_oldest_seconds'],
  ['control-plane', 'payments without an invoice', 'turnpike_top_up_uninvoiced_seconds'],
  ['control-plane', 'invoices without a copy', 'turnpike_invoice_uncopied_seconds'],
  ['control-plane', 'refunds under way', 'turnpike_refund_oldest_seconds'],
  ['control-plane', 'automatic top-ups under way', 'turnpike_automatic_top_up_oldest_seconds'],
  ['control-plane', 'bursts of automatic top-ups', 'turnpike_automatic_top_ups_burst'],
  ['control-plane', 'disputes that wait', 'turnpike_disputes_unanswered'],
  ['control-plane', 'money that differs', 'turnpike_payment_differences'],
  ['control-plane', 'when payments were compared', 'turnpike_payments_compared_seconds'],
  ['auth', 'workspaces that differ from the account layer', 'turnpike_feed_digest_differing'],
  ['auth', 'verdicts', 'POST /internal/keys/verify'],
  ['catalog', 'model lists', 'GET /v1/models'],
  ['fleet', 'alerts', 'ALERTS{'],
  ['fleet', 'replicas', 'up{'],
  ['fleet', 'which builds run', 'turnpike_build_info'],
  ['edge', 'which builds of it run', 'turnpike_build_info'],
])('the dashboard of %s shows %s', (board, _what, part) => {
  expect(LINES.filter(({ id, expr }) => id === board && expr.includes(part))).not.toEqual([]);
});
