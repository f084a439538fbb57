import type { CellTable } from '../cell.ts';
import { kill } from '../fault.ts';

export const accounts: CellTable = {
  'control-plane-kill': {
    breaks: 'kill -9 of the control plane, back after 4 s',
    holds: 'no call notices: the region serves on, and each call is charged',
    eventLog: 'embedded',
    fault: {
      ...kill('control-plane'),
      async strike(context) {
        await context.stack.parts.kill('control-plane');
        for (const path of ['/models', '/svc/key', '/svc/credit']) {
          const { status } = await context.ask(path);
          context.check(status === 200, `GET ${path} answers ${status} without the control plane`);
        }
      },
    },
    forMs: 4_000,
    ends: { ok: true },
  },
};
