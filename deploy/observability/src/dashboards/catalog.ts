import type { Board } from './board.ts';
import { medianAndTail, perSecond } from './promql.ts';
import { serviceRows } from './serviceRows.ts';

const LISTS = '{job="catalog", route=~"GET /v1/models.*"}';

export const catalogBoard: Board = {
  id: 'catalog',
  title: 'Turnpike: catalog',
  rows: [
    {
      title: 'Models and prices',
      panels: [
        {
          title: 'Model lists',
          unit: 'reqps',
          says: 'Given to clients, by status.',
          lines: [{ expr: perSecond(`turnpike_requests_total${LISTS}`, 'status'), legend: '{{status}}' }],
        },
        {
          title: 'Time of a list',
          unit: 's',
          lines: medianAndTail('turnpike_request_duration_seconds', 'route', LISTS),
        },
        {
          title: 'The catalog, for the fleet',
          unit: 'reqps',
          says: 'Asked for by services; they go on with their last one while it fails.',
          lines: [
            {
              expr: perSecond('turnpike_requests_total{job="catalog", route=~".* /internal/.*"}', 'route, status'),
              legend: '{{route}} {{status}}',
            },
          ],
        },
      ],
    },
    ...serviceRows('catalog'),
  ],
};
