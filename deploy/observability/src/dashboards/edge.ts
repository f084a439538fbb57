import type { Board } from './board.ts';
import { perSecond } from './promql.ts';
import { serviceRows } from './serviceRows.ts';

export const edgeBoard: Board = {
  id: 'edge',
  title: 'Turnpike: edge',
  rows: [
    {
      title: 'At the door',
      panels: [
        {
          title: 'Calls that fail by our doing',
          unit: 'percentunit',
          says:
            'Part of the listed paths’ requests that are answered with 500 or above; what the alerts of ' +
            'availability go by.',
          lines: [{ expr: 'turnpike:availability_errors:ratio_rate5m', legend: 'of all calls' }],
        },
        {
          title: 'Shed by the flood limit',
          unit: 'reqps',
          lines: [
            { expr: perSecond('turnpike_faults_total{job="edge", fault="flood_limit_exceeded"}'), legend: 'shed' },
          ],
        },
        {
          title: 'A service behind that cannot be reached',
          unit: 'reqps',
          says: 'By route, where it takes no connection, or no more of them.',
          lines: [
            {
              expr: perSecond('turnpike_faults_total{job="edge", fault=~"upstream_.*"}', 'fault, route'),
              legend: '{{fault}} {{route}}',
            },
          ],
        },
      ],
    },
    ...serviceRows('edge'),
  ],
};
