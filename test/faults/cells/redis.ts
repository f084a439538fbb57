import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readTotals } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, type Fault, freeze, kill, reset } from '../fault.ts';

const appendOnlyFile = (dataDir: string): string => join(dataDir, 'redis', 'appendonlydir');

/** Redis dies, and comes back without its file. */
const loseFile: Fault = {
  ...kill('redis'),
  async strike({ stack: { parts, dataDir } }) {
    await parts.kill('redis');
    await rm(appendOnlyFile(dataDir), { recursive: true });
  },
};

const TAIL_MS = 2_000;

/** Redis dies, and comes back with its file as it was `TAIL_MS` before. */
const loseTail: Fault = {
  ...kill('redis'),
  async strike({ stack: { parts, dataDir } }) {
    const file = appendOnlyFile(dataDir);
    const copy = join(dataDir, 'redis-copy');
    await cp(file, copy, { recursive: true });
    await pause(TAIL_MS);
    await parts.kill('redis');
    await rm(file, { recursive: true });
    await cp(copy, file, { recursive: true });
  },
};

export const redis: CellTable = {
  'redis-kill': {
    breaks: 'kill -9 of Redis, back after 3 s with its file',
    holds:
      'new calls get 503 and are not admitted; streams under way end well and are settled; serves again within 5 s',
    eventLog: 'embedded',
    fault: kill('redis'),
    forMs: 3_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, '503': true },
    also: (context) => context.checkRecovery(5_000),
  },
  'redis-freeze': {
    breaks: 'SIGSTOP of Redis for 3 s',
    holds: 'new calls get 503 within their deadline; streams under way end well; what was held in vain is released',
    eventLog: 'embedded',
    fault: freeze('redis'),
    forMs: 3_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, '503': true },
  },
  'redis-slow': {
    breaks: 'every answer of Redis comes 1.2 s late for 5 s, past its deadline',
    holds: '200 or 503; an admission that came too late holds nothing in the end',
    eventLog: 'embedded',
    fault: disturb({ to: 'redis' }, { delayMs: 600 }),
    forMs: 5_000,
    ends: { ok: true, '503': true },
  },
  'redis-held-replies': {
    breaks: 'Redis does what it is told for 2 s, and its answers never arrive',
    holds: 'admissions nobody waited for are taken back, and nothing is settled twice',
    eventLog: 'kafka',
    fault: disturb({ to: 'redis' }, { holdReplies: true }),
    forMs: 2_000,
    ends: { ok: true, '503': true },
  },
  'redis-cut': {
    breaks: 'the router’s connection to Redis is reset ten times',
    holds: '200 or 503; a script that ran unseen is not run twice',
    eventLog: 'kafka',
    fault: reset({ to: 'redis' }),
    forMs: 50,
    times: 10,
    ends: { ok: true, '503': true },
  },
  'redis-connections-lost': {
    breaks: 'nothing passes any more, for good, on the connections to Redis; nobody closes them, and new ones work',
    holds: 'a router connects anew by itself, and nothing is charged twice',
    eventLog: 'kafka',
    fault: { strike: async ({ stack }) => stack.links.lose({ to: 'redis' }), repair: async () => undefined },
    forMs: 0,
    ends: { ok: true, '503': true },
  },
  'redis-empty': {
    breaks: 'kill -9 of Redis, back after 2 s without its file, while streams run',
    holds: 'new calls get 503 until balances and holds are rebuilt; the streams’ charges are in every balance',
    eventLog: 'kafka',
    fault: loseFile,
    forMs: 2_000,
    load: { tokens: [1, 1_500] },
    ends: { ok: true, '503': true },
  },
  'redis-empty-last-cents': {
    breaks: 'Redis comes back without its file three times, under streams of a workspace that runs out of credit',
    holds: 'in the end no more is spent than was given',
    eventLog: 'embedded',
    run: runOutOfCredit,
  },
  'redis-tail-lost': {
    breaks: 'Redis dies and comes back as it was 2 s before, as a replica that lagged does',
    holds:
      'what it forgot is in every balance again; nothing it forgot is held, and nothing it remembers is charged twice',
    eventLog: 'embedded',
    fault: loseTail,
    forMs: 200,
    load: { tokens: [1, 600] },
    ends: { ok: true, '503': true },
  },
};

/** About half of what the calls of a cell cost. */
const CREDIT = 20_000_000n;

async function runOutOfCredit(context: CellContext): Promise<void> {
  const { ledger } = context.stack;
  const { workspaceId, keys } = await context.openAccount({ creditNanoUsd: CREDIT });
  const calls = await breakUnderLoad(context, {
    fault: loseFile,
    forMs: 300,
    times: 3,
    load: { keys, tokens: [50, 400], maxTokens: 400 },
  });
  context.checkOutcomes(calls, { ok: true, '402': true, '503': true });
  context.check(
    calls.some(({ outcome }) => outcome === '402'),
    'the credit never ran out',
  );
  await context.until('every row', async () => {
    const { hourlyRequests } = await readTotals(ledger, [workspaceId]);
    return hourlyRequests >= calls.filter(({ isAdmitted }) => isAdmitted).length;
  });
  const { byWorkspace } = await readTotals(ledger, [workspaceId]);
  const spent = byWorkspace.get(workspaceId) ?? 0n;
  context.check(spent <= CREDIT, `${spent} nano-dollars are spent, and ${CREDIT} were given`);
}
