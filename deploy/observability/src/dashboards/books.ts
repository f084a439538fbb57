import type { Board } from './board.ts';
import { growth, perSecond, quantile } from './promql.ts';
import { serviceRows } from './serviceRows.ts';

export const booksBoard: Board = {
  id: 'books',
  title: 'Turnpike: the books',
  rows: [
    {
      title: 'Do they agree',
      panels: [
        {
          title: 'Since the books were checked',
          unit: 's',
          says: 'Time since reconciliation last came to its end in the region. It grows to the interval and falls to nothing.',
          lines: [{ expr: 'time() - max(turnpike_ledger_reconciled_timestamp_seconds)', legend: 'age' }],
        },
        {
          title: 'Sums that differ',
          unit: 'short',
          says: 'Checks of the books whose two sides differed. Anything but nothing wants a person.',
          lines: [{ expr: growth('turnpike_ledger_mismatch_total', '$__rate_interval'), legend: 'differences' }],
        },
        {
          title: 'What wants a person',
          unit: 'short',
          says: 'Alerts of the last hour, by kind, and holds of calls that had lost their router.',
          lines: [
            { expr: growth('turnpike_alerts_total', '1h', 'kind'), legend: '{{kind}}' },
            { expr: growth('turnpike_swept_holds_total', '1h'), legend: 'swept holds' },
          ],
        },
      ],
    },
    {
      title: 'On the way to the books',
      panels: [
        {
          title: 'Not recorded',
          unit: 'short',
          says: 'Records of the event log that are not in the ledger yet, and those that it could not read.',
          lines: [
            { expr: 'max(turnpike_event_lag_records)', legend: 'lag' },
            { expr: 'max(turnpike_ledger_dead_letters)', legend: 'dead letters' },
          ],
        },
        {
          title: 'Who reads',
          unit: 'short',
          says: 'Partitions of the event log in the share of each ledger. One without any does not reach the log, or there are too many.',
          lines: [{ expr: 'max by (instance) (turnpike_event_partitions)', legend: '{{instance}}' }],
        },
        {
          title: 'Recorded',
          unit: 'reqps',
          says: 'Usage rows that are new or became known, and records that became dead letters.',
          lines: [
            { expr: perSecond('turnpike_usage_rows_total'), legend: 'rows' },
            { expr: perSecond('turnpike_dead_letters_total'), legend: 'dead letters' },
          ],
        },
        {
          title: 'One transaction',
          unit: 's',
          says: 'From its begin to its commit.',
          lines: [
            { expr: quantile(0.5, 'turnpike_record_batch_seconds'), legend: 'p50' },
            { expr: quantile(0.99, 'turnpike_record_batch_seconds'), legend: 'p99' },
          ],
        },
        {
          title: 'Spool',
          unit: 'percentunit',
          says: 'By process; at 90 % it refuses new calls.',
          lines: [
            {
              expr: 'max by (instance) (turnpike_spool_bytes / turnpike_spool_limit_bytes)',
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Memory of Redis',
          unit: 'percentunit',
          says: 'Share of maxmemory, of the fullest Redis; at 100 % it refuses new calls.',
          lines: [{ expr: 'max(turnpike_redis_memory_ratio)', legend: 'fullest' }],
        },
        {
          title: 'Records that the event log lost',
          unit: 'short',
          says: 'Times that it had lost some before they were read, or was made anew, in the last hour.',
          lines: [{ expr: growth('turnpike_event_log_gaps_total', '1h'), legend: 'gaps' }],
        },
      ],
    },
    ...serviceRows('usage-ledger'),
  ],
};
