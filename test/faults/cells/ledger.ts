import { setTimeout as pause } from 'node:timers/promises';
import { readBalances } from '../books/readBalances.ts';
import { readRows } from '../books/readLedger.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, type Fault, freeze, kill } from '../fault.ts';
import { appendEvents, countEvents, readEvents } from '../stack/topic.ts';

/** More than a second for each answer: longer than a call waits for balances. */
const SLOW = { delayMs: 700 };

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
  'ledger-slow': {
    breaks: 'every answer of the ledger takes 1.4 s longer, for 20 s (60 s with --full)',
    holds: 'every call ends well, and what is recorded meanwhile is let go of meanwhile',
    eventLog: 'kafka',
    run: (context) => slowDown(context, disturb({ to: 'usage-ledger' }, SLOW)),
  },
  'ledger-slow-postgres': {
    breaks: 'every answer of Postgres to the ledger takes 1.4 s longer, for 20 s (60 s with --full)',
    holds: 'every call ends well, and what is recorded meanwhile is let go of meanwhile',
    eventLog: 'kafka',
    run: (context) => slowDown(context, disturb({ from: 'usage-ledger', to: 'postgres' }, SLOW)),
  },
  'ledger-two-spellings': {
    breaks: 'events of calls that are not recorded yet are in the topic again, with their ids in upper case',
    holds: 'each is recorded once, and so is every other of its batch',
    eventLog: 'kafka',
    run: writeTwoSpellings,
  },
};

const SLOW_FOR_MS = { usual: 20_000, full: 60_000 };
const USUAL_CALLS = 1_000;
const PER_SECOND = 20;
const SERVES_WITHIN_MS = 5_000;
const LET_GO_WITHIN_MS = 30_000;

async function slowDown(context: CellContext, fault: Fault): Promise<void> {
  const { redis } = context.stack;
  const { workspaceId, keys } = context.account;
  const keyIds = keys.map(({ keyId }) => keyId);
  const forMs = context.calls > USUAL_CALLS ? SLOW_FOR_MS.full : SLOW_FOR_MS.usual;
  await fault.strike(context);
  const load = context.startLoad({ calls: (forMs / 1_000) * PER_SECOND, perSecond: PER_SECOND });
  await pause(forMs);
  context.checkOutcomes(await load.done, { ok: true });
  const countPending = async () => (await readBalances(redis, workspaceId, keyIds)).pendingCalls;
  await context.until('all calls to be let go of', async () => (await countPending()) === 0, LET_GO_WITHIN_MS);
  await fault.repair(context);
  await context.repaired();
  context.checkRecovery(SERVES_WITHIN_MS);
}

async function writeTwoSpellings(context: CellContext): Promise<void> {
  const { parts, ledger } = context.stack;
  const brokers = context.stack.kafkaBrokers ?? '';
  const { workspaceId, keys } = context.account;
  const countRows = async () => (await readRows(ledger, [workspaceId])).length;
  await context.until('the rows of before', async () => (await countRows()) === keys.length);
  const before = await countEvents(brokers);
  await parts.kill('usage-ledger');
  const calls = await context.startLoad({ calls: Math.ceil(context.calls / 10) }).done;
  context.checkOutcomes(calls, { ok: true });
  await context.until('the events in the topic', async () => (await countEvents(brokers)) >= before + calls.length);
  const callIds = calls.flatMap(({ callId }) => callId ?? []);
  const events = (await readEvents(brokers)).filter((value) => callIds.some((callId) => value.includes(callId)));
  const upper = events.map((value) => {
    const { callId, keyId } = JSON.parse(value) as { callId: string; keyId: string };
    return { key: keyId, value: value.replace(callId, callId.toUpperCase()) };
  });
  await appendEvents(brokers, upper);
  await parts.restart('usage-ledger');
  await context.until('a row of every call', async () => (await countRows()) === calls.length + keys.length);
}
