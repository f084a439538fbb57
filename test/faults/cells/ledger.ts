import type { CellTable } from '../cell.ts';
import { disturb, freeze, kill } from '../fault.ts';

export const ledger: CellTable = {
  'ledger-kill': {
    breaks: 'kill -9 of the ledger three times in the middle of batches',
    holds: 'every call ends well; nothing is recorded twice',
    eventLog: 'kafka',
    fault: kill('usage-ledger'),
    forMs: 500,
    times: 3,
    ends: { ok: true },
  },
  'ledger-kill-embedded': {
    breaks: 'kill -9 of the ledger three times, and with it of the event log',
    holds: 'every call ends well; a batch whose answer was lost comes again and counts once',
    eventLog: 'embedded',
    fault: kill('usage-ledger'),
    forMs: 500,
    times: 3,
    ends: { ok: true },
  },
  'ledger-freeze': {
    breaks: 'SIGSTOP of the ledger for 8 s',
    holds: 'every call ends well; its partitions come back to it',
    eventLog: 'kafka',
    fault: freeze('usage-ledger'),
    forMs: 8_000,
    ends: { ok: true },
  },
  'ledger-answers-lost': {
    breaks: 'the ledger takes batches for 3 s, and its answers never reach the router',
    holds: 'every call ends well; batches that come twice count once',
    eventLog: 'embedded',
    fault: disturb({ from: 'model-router', to: 'usage-ledger' }, { holdReplies: true }),
    forMs: 3_000,
    ends: { ok: true },
  },
};
