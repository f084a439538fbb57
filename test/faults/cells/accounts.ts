import type { CellTable } from '../cell.ts';
import { disturb, kill } from '../fault.ts';

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
  'control-plane-cut-away': {
    breaks: 'auth and the ledger are cut from the control plane for 8 s: connections stay open and nothing is answered',
    holds: 'no call notices: the region goes by the workspaces and credits that it has',
    eventLog: 'embedded',
    fault: disturb({ to: 'control-plane' }, { blackHole: true }),
    forMs: 8_000,
    ends: { ok: true },
  },
};
