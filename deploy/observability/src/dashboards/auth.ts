import type { Board } from './board.ts';
import { medianAndTail, perSecond } from './promql.ts';
import { serviceRows } from './serviceRows.ts';

const VERDICTS = '{job="auth", route="POST /internal/keys/verify"}';

export const authBoard: Board = {
  id: 'auth',
  title: 'Turnpike: auth',
  rows: [
    {
      title: 'Who a key is',
      panels: [
        {
          title: 'Verdicts on keys',
          unit: 'reqps',
          says: 'Asked for by the services: of keys that they have not seen for 30 s.',
          lines: [{ expr: perSecond(`turnpike_requests_total${VERDICTS}`, 'status'), legend: '{{status}}' }],
        },
        {
          title: 'Time of a verdict',
          unit: 's',
          says: 'Who asks has given up after 0.5 s, unless AUTH_TIMEOUT_MS says otherwise.',
          lines: medianAndTail('turnpike_request_duration_seconds', 'route', VERDICTS),
        },
        {
          title: 'Keys that look up too much',
          unit: 'reqps',
          lines: [
            { expr: perSecond('turnpike_key_bounds_total{job="auth"}', 'bound, key'), legend: '{{key}} {{bound}}' },
          ],
        },
      ],
    },
    ...serviceRows('auth'),
  ],
};
