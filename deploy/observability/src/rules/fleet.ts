import { SERVICE_NAMES } from '@turnpike/config/services';
import type { RuleFile } from './rule.ts';

const JOBS = SERVICE_NAMES.join('|');

/** Whether what serves the calls is there, and has room. */
export const fleetRules: RuleFile = {
  name: 'fleet',
  rules: [
    {
      alert: 'ServiceDown',
      expr: [
        `max by (job) (up{job=~"${JOBS}"}) == 0`,
        ...SERVICE_NAMES.map((service) => `absent(up{job="${service}"})`),
      ].join('\nor '),
      for: '1m',
      severity: 'page',
      summary: 'No replica of {{ $labels.job }} answers',
    },
    {
      alert: 'ReplicaDown',
      expr: `up{job=~"${JOBS}"} == 0`,
      for: '5m',
      severity: 'ticket',
      summary: 'A replica of {{ $labels.job }} does not answer: {{ $labels.instance }}',
    },
    {
      alert: 'ModelWithoutEngine',
      expr: 'sum(rate(turnpike_faults_total{fault="no_healthy_engine"}[2m])) > 0',
      for: '2m',
      severity: 'page',
      summary: 'Calls are refused because no engine of their model takes them',
    },
    {
      alert: 'EngineLeftOut',
      expr: 'min by (engine) (turnpike_engine_breaker) > 0',
      for: '5m',
      severity: 'ticket',
      summary: 'No router sends calls to engine {{ $labels.engine }}',
    },
    {
      alert: 'CallsTurnedAway',
      expr: 'sum by (model, reason) (rate(turnpike_sheds_total[5m])) > 0',
      for: '10m',
      severity: 'ticket',
      summary: 'Calls of {{ $labels.model }} are turned away for want of an engine ({{ $labels.reason }})',
    },
    {
      alert: 'LimitsNotShared',
      expr: 'rate(turnpike_throttle_exchanges_total{outcome="failed"}[5m]) > 0',
      for: '10m',
      severity: 'ticket',
      summary:
        '{{ $labels.job }} {{ $labels.instance }} keeps limits of source IPs by itself: Redis does not answer it',
    },
    {
      alert: 'ProcessBusy',
      expr: 'rate(turnpike_event_loop_busy_seconds_total[5m]) > 0.8',
      for: '10m',
      severity: 'ticket',
      summary: '{{ $labels.job }} {{ $labels.instance }} is at its end: its event loop is hardly ever idle',
    },
  ],
};
