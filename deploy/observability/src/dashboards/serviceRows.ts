import type { ServiceName } from '@turnpike/config/services';
import type { Board } from './board.ts';
import { medianAndTail, perSecond } from './promql.ts';

/** What every service measures of itself: its requests and its processes. `job` is the service's name in Prometheus. */
export const serviceRows = (service: ServiceName): Board['rows'] => {
  const mine = `{job="${service}"}`;
  return [
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by answer',
          unit: 'reqps',
          says: 'By status; none: the client left before there was one.',
          lines: [{ expr: perSecond(`turnpike_requests_total${mine}`, 'status'), legend: '{{status}}' }],
        },
        {
          title: 'Requests by route',
          unit: 'reqps',
          lines: [{ expr: perSecond(`turnpike_requests_total${mine}`, 'route'), legend: '{{route}}' }],
        },
        {
          title: 'Faults',
          unit: 'reqps',
          says: 'Requests that were refused or failed, by why.',
          lines: [{ expr: perSecond(`turnpike_faults_total${mine}`, 'fault'), legend: '{{fault}}' }],
        },
        {
          title: 'Time of a request',
          unit: 's',
          says: 'To the last byte of its answer, so a stream takes as long as it lasts.',
          lines: medianAndTail('turnpike_request_duration_seconds', 'route', mine),
        },
        {
          title: 'Answers that are errors of ours',
          unit: 'reqps',
          says: 'Those of 500 and above, by route.',
          lines: [
            {
              expr: perSecond(`turnpike_requests_total{job="${service}", status=~"5.."}`, 'route'),
              legend: '{{route}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Replicas that answer',
          unit: 'short',
          lines: [{ expr: `sum(up${mine})`, legend: 'answer' }],
        },
        {
          title: 'Processor',
          unit: 'short',
          says: 'Cores in use, all threads.',
          lines: [
            {
              expr: `sum by (instance) (rate(process_cpu_seconds_total${mine}[$__rate_interval]))`,
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Memory',
          unit: 'bytes',
          lines: [{ expr: `max by (instance) (process_resident_memory_bytes${mine})`, legend: '{{instance}}' }],
        },
        {
          title: 'Event loop, busy',
          unit: 'percentunit',
          says: 'Near 1 the process is at its end.',
          lines: [
            {
              expr: `sum by (instance) (rate(turnpike_event_loop_busy_seconds_total${mine}[$__rate_interval]))`,
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Event loop, late',
          unit: 's',
          says: 'Longest that a due timer waited, and longest that the thread computed in one turn, since the last scrape.',
          lines: [
            { expr: `max by (instance) (turnpike_event_loop_late_seconds${mine})`, legend: 'late {{instance}}' },
            { expr: `max by (instance) (turnpike_event_loop_blocked_seconds${mine})`, legend: 'blocked {{instance}}' },
          ],
        },
      ],
    },
  ];
};
