import { grew, type RuleFile } from './rule.ts';

/** Under load some records are always on their way, so what counts is how long the ledger would take for them. */
const RECORDED_A_MINUTE = '60 * (sum(rate(turnpike_usage_rows_total[5m])) or vector(0))';

/** What would cost somebody money, or lose the record of it. */
export const moneyRules: RuleFile = {
  name: 'money',
  rules: [
    {
      alert: 'BooksDiffer',
      expr: 'sum(increase(turnpike_ledger_mismatch_total[1h])) > 0',
      severity: 'page',
      summary: 'Two sums of the books that have to be equal are not',
    },
    {
      alert: 'BooksNotChecked',
      // Three intervals of RECONCILE_INTERVAL_SECONDS as it comes. NaN is above nothing: Postgres is away, or the region is new
      // and its first run comes after an interval.
      expr: `time() - max(turnpike_ledger_reconciled_timestamp_seconds) > 2 * 3600
or absent(turnpike_ledger_reconciled_timestamp_seconds > 0)`,
      for: '75m',
      severity: 'ticket',
      summary: 'No reconciliation came to its end for three hours, or none is known of, so a loss would not be found',
    },
    {
      alert: 'SpoolFills',
      expr: 'max by (job, instance) (turnpike_spool_bytes / turnpike_spool_limit_bytes) > 0.5',
      for: '1m',
      severity: 'page',
      summary:
        'The spool of {{ $labels.job }} {{ $labels.instance }} is {{ $value | humanizePercentage }} full; at ' +
        '90 % it refuses calls',
    },
    {
      alert: 'SpoolDiskHangs',
      expr: 'max by (job, instance) (turnpike_spool_hung) > 0',
      severity: 'page',
      summary:
        'The disk of the spool of {{ $labels.job }} {{ $labels.instance }} hangs: it refuses calls, and keeps the ' +
        'events of those under way in Redis',
    },
    {
      alert: 'RedisFills',
      expr: 'max by (job, instance) (turnpike_redis_memory_ratio) > 0.7',
      for: '1m',
      severity: 'page',
      summary: 'A Redis uses {{ $value | humanizePercentage }} of its maxmemory; at 100 % every call of it is refused',
    },
    {
      alert: 'LedgerLags',
      expr: `max(turnpike_event_lag_records) > ${RECORDED_A_MINUTE}`,
      for: '5m',
      severity: 'ticket',
      summary: '{{ $value }} records wait for the ledger, which is more than it records in a minute',
    },
    {
      alert: 'DeadLetters',
      expr: 'max(turnpike_ledger_dead_letters) > 0',
      severity: 'ticket',
      summary: '{{ $value }} events could not be read; their calls have no row',
    },
    {
      alert: 'EventLogLostRecords',
      expr: grew('turnpike_event_log_gaps_total', '15m'),
      severity: 'ticket',
      summary: 'The event log lost records before the ledger had read them, or was made anew',
    },
    {
      alert: 'GateClosed',
      expr: 'max(turnpike_gate_closed_seconds) > 10',
      severity: 'page',
      summary: 'No router has admitted a call for {{ $value | humanizeDuration }}, of a shard at least',
    },
    {
      alert: 'BalancesNotGiven',
      expr: 'min(turnpike_balances_given) == 0',
      for: '2m',
      severity: 'page',
      summary: 'The ledger gives no balances: it reads the event log again, and has not come to its end',
    },
    {
      alert: 'RouterSeesAnotherRedis',
      expr: 'max(turnpike_router_strangers) > 0',
      for: '1m',
      severity: 'page',
      summary: '{{ $value }} routers see another Redis than the region counts in',
    },
    {
      alert: 'RouterOverdue',
      expr: 'max(turnpike_routers_overdue) > 0',
      for: '1m',
      severity: 'ticket',
      summary: '{{ $value }} routers have admitted nothing for longer than anything is waited for',
    },
    {
      alert: 'AdmissionRefused',
      expr: 'sum by (job) (rate(turnpike_faults_total{fault="admission_unavailable"}[2m])) > 0',
      for: '3m',
      severity: 'page',
      summary: '{{ $labels.job }} refuses calls because Redis does not admit them, or its spool is full',
    },
    {
      alert: 'RedisSlow',
      expr: 'histogram_quantile(0.99, sum by (le) (rate(turnpike_admit_seconds_bucket[5m]))) > 0.05',
      for: '10m',
      severity: 'ticket',
      summary: 'One admission in a hundred waits {{ $value | humanizeDuration }} for Redis',
    },
    {
      alert: 'HoldsNotSettled',
      expr: 'max(turnpike_jobs_overdue{lacks="settlement"}) > 0',
      for: '5m',
      severity: 'ticket',
      summary: '{{ $value }} media jobs have ended and their holds are not settled',
    },
    {
      alert: 'CallsLostTheirRouter',
      expr: grew('turnpike_swept_holds_total', '15m'),
      severity: 'ticket',
      summary: '{{ $value }} holds were released for calls that had lost their router',
    },
    {
      alert: 'TokensUnpaid',
      expr: `sum by (reason) (increase(turnpike_unpaid_tokens_total[1h])) > 50000
and sum by (reason) (increase(turnpike_unpaid_tokens_total[1h])) > scalar(sum(increase(turnpike_tokens_total{kind="completion"}[1h]))) / 20`,
      severity: 'ticket',
      summary:
        'Engines made {{ $value | humanize }} unpaid output tokens in an hour: their attempts ended in {{ $labels.reason }}',
    },
    {
      alert: 'ChargeInDoubt',
      expr: grew('turnpike_alerts_total{kind!="backend_misconfigured"}', '15m'),
      severity: 'ticket',
      summary: 'A router raised {{ $labels.kind }}, {{ $value }} times',
    },
  ],
};
