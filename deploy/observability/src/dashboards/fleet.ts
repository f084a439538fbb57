import { SERVICE_NAMES } from '@turnpike/config/services';
import type { Board } from './board.ts';
import { medianAndTail, perSecond } from './promql.ts';

export const fleetBoard: Board = {
  id: 'fleet',
  title: 'Turnpike: fleet',
  rows: [
    {
      title: 'Is all well',
      panels: [
        {
          title: 'Alerts',
          unit: 'short',
          says: 'That are firing now; what to do about each stands in docs/operations.md.',
          lines: [
            {
              expr: 'sum by (alertname, severity) (ALERTS{alertstate="firing"})',
              legend: '{{severity}} {{alertname}}',
            },
          ],
        },
        {
          title: 'Calls that fail by our doing',
          unit: 'percentunit',
          says: 'Part of all calls; the aim is one in a thousand at most.',
          lines: [
            { expr: 'turnpike:availability_errors:ratio_rate5m', legend: '5 minutes' },
            { expr: 'turnpike:availability_errors:ratio_rate1h', legend: '1 hour' },
            { expr: 'turnpike:availability_errors:ratio_rate3d', legend: '3 days' },
          ],
        },
        {
          title: 'Streams that begin late',
          unit: 'percentunit',
          says: 'Part of all whose first token took longer than 5 s; the aim is one in a hundred at most.',
          lines: [
            { expr: 'turnpike:first_token_errors:ratio_rate5m', legend: '5 minutes' },
            { expr: 'turnpike:first_token_errors:ratio_rate1h', legend: '1 hour' },
            { expr: 'turnpike:first_token_errors:ratio_rate3d', legend: '3 days' },
          ],
        },
      ],
    },
    {
      title: 'What it does',
      panels: [
        {
          title: 'Requests by service',
          unit: 'reqps',
          lines: [
            {
              expr: perSecond('turnpike_requests_total{route!~"GET /(health|ready|metrics)"}', 'job'),
              legend: '{{job}}',
            },
          ],
        },
        {
          title: 'Errors of ours by service',
          unit: 'reqps',
          says: 'Answers of 500 and above. A service that is told to stop says 503 to /ready: that is left out.',
          lines: [
            {
              expr: perSecond('turnpike_requests_total{route!~"GET /(health|ready|metrics)", status=~"5.."}', 'job'),
              legend: '{{job}}',
            },
          ],
        },
        {
          title: 'Time to first token',
          unit: 's',
          lines: medianAndTail('turnpike_time_to_first_token_seconds', 'model'),
        },
        {
          title: 'Under way',
          unit: 'short',
          says: 'Calls, those that wait for an engine, and media jobs.',
          lines: [
            { expr: 'sum(turnpike_open_calls)', legend: 'calls' },
            { expr: 'sum(turnpike_queued_calls)', legend: 'waiting for an engine' },
            { expr: 'max by (state) (sum by (state, instance) (turnpike_jobs))', legend: 'jobs {{state}}' },
          ],
        },
        {
          title: 'Who does not admit',
          unit: 'short',
          says: 'Gate: 0 while no call is admitted.',
          lines: [
            { expr: 'min(turnpike_gate_open)', legend: 'gate' },
            { expr: 'count(turnpike_router_admits == 0)', legend: 'processes that admit nothing' },
            { expr: 'count(min by (engine) (turnpike_engine_breaker) > 0)', legend: 'engines left out' },
          ],
        },
        {
          title: 'The books',
          unit: 'short',
          lines: [
            { expr: 'max(turnpike_event_lag_records)', legend: 'lag' },
            { expr: 'max(turnpike_ledger_dead_letters)', legend: 'dead letters' },
            { expr: 'sum(increase(turnpike_ledger_mismatch_total[1h]))', legend: 'sums that differ' },
          ],
        },
      ],
    },
    {
      title: 'What it runs on',
      panels: [
        {
          title: 'Replicas that answer',
          unit: 'short',
          lines: [{ expr: `sum by (job) (up{job=~"${SERVICE_NAMES.join('|')}"})`, legend: '{{job}}' }],
        },
        {
          title: 'Processor',
          unit: 'short',
          says: 'Cores in use, all replicas together.',
          lines: [{ expr: perSecond('process_cpu_seconds_total', 'job'), legend: '{{job}}' }],
        },
        {
          title: 'Memory',
          unit: 'bytes',
          says: 'Of the largest replica.',
          lines: [{ expr: 'max by (job) (process_resident_memory_bytes)', legend: '{{job}}' }],
        },
        {
          title: 'Event loop, busy',
          unit: 'percentunit',
          says: 'Of the busiest replica; near 1 it is at its end.',
          lines: [
            {
              expr: 'max by (job) (rate(turnpike_event_loop_busy_seconds_total[$__rate_interval]))',
              legend: '{{job}}',
            },
          ],
        },
      ],
    },
  ],
};
