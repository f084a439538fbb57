import type { CellTable } from '../cell.ts';
import { kill, reset } from '../fault.ts';

export const edge: CellTable = {
  'edge-kill': {
    breaks: 'kill -9 of the edge three times while streams run',
    holds: 'the router sees its clients leave: what the engine did is charged, and all else ends well',
    eventLog: 'embedded',
    fault: kill('edge'),
    forMs: 300,
    times: 3,
    load: { tokens: [1, 300] },
    ends: { ok: true, broken: true, '503': true },
  },
  'edge-router-cut': {
    breaks: 'all connections between edge and router are reset five times while streams run',
    holds: 'a stream that has begun is never ended as if it were whole; what has not begun gets 503',
    eventLog: 'kafka',
    fault: reset({ from: 'edge', to: 'model-router' }),
    forMs: 50,
    times: 5,
    load: { tokens: [1, 300] },
    ends: { ok: true, broken: true, '503': true },
  },
};
