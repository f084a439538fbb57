import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { freeze, kill, reset } from '../fault.ts';

export const postgres: CellTable = {
  'postgres-kill': {
    breaks: 'kill -9 of Postgres three times while it takes in rows, back after a second',
    holds: 'every call ends well, as keys are known for 30 s; no row that was committed is gone',
    eventLog: 'kafka',
    fault: kill('postgres'),
    forMs: 1_000,
    times: 3,
    ends: { ok: true },
  },
  'postgres-kill-embedded': {
    breaks: 'kill -9 of Postgres three times while it is the event log as well',
    holds: 'every call ends well; an event that was acknowledged has its row',
    eventLog: 'embedded',
    fault: kill('postgres'),
    forMs: 1_000,
    times: 3,
    ends: { ok: true },
  },
  'postgres-cut': {
    breaks: 'the ledger’s connections to Postgres are reset ten times, in the middle of transactions',
    holds: 'every call ends well; a batch is recorded whole or comes again',
    eventLog: 'kafka',
    fault: reset({ from: 'usage-ledger', to: 'postgres' }),
    forMs: 50,
    times: 10,
    ends: { ok: true },
  },
  'postgres-freeze': {
    breaks: 'SIGSTOP of Postgres for 8 s',
    holds: 'every call ends well; a usage look-up gets 503 or 504 at its allowance of 5 s',
    eventLog: 'embedded',
    fault: {
      ...freeze('postgres'),
      async strike(context) {
        context.stack.parts.freeze('postgres');
        const { status, tookMs } = await askForUsage(context);
        context.check(status === 503 || status === 504, `a usage look-up got ${status}`);
        context.check(tookMs < 6_000, `a usage look-up took ${Math.round(tookMs)} ms`);
      },
    },
    forMs: 2_000,
    ends: { ok: true },
  },
  'postgres-slow': {
    breaks: 'the usage table is locked for more than 5 s, with 40 look-ups waiting',
    holds: 'every call ends well; a look-up gets 504 usage_timeout at its allowance of 5 s, or 503 where too many wait',
    eventLog: 'kafka',
    run: lockUsage,
  },
  'postgres-restored': {
    breaks: 'Postgres dies and comes back as it was seconds before, as after a failover that lost the last commits',
    holds: 'the offsets go back with the rows, so that what was lost is read again',
    eventLog: 'kafka',
    run: restoreCopy,
  },
};

/** Looks up a call of the cell that has ended well. */
function askForUsage(context: CellContext): ReturnType<CellContext['ask']> {
  const callId = context.records.find(({ outcome }) => outcome === 'ok')?.callId;
  return context.ask(`/svc/usage/request/${callId}`);
}

const LOOK_UPS = 40;
/** A usage look-up's allowance, and a little more. */
const LATEST_MS = 5_700;

async function lockUsage(context: CellContext): Promise<void> {
  const session = await context.stack.ledger.connect();
  let lookUps: Awaited<ReturnType<typeof askForUsage>>[] = [];
  const calls = await breakUnderLoad(context, {
    fault: {
      async strike() {
        await session.query('BEGIN');
        await session.query('LOCK TABLE usage_request IN ACCESS EXCLUSIVE MODE');
        lookUps = await Promise.all(Array.from({ length: LOOK_UPS }, () => askForUsage(context)));
      },
      async repair() {
        await session.query('ROLLBACK');
        session.release();
      },
    },
    forMs: 500,
  });
  context.checkOutcomes(calls, { ok: true });
  const timedOut = lookUps.filter(({ status, text }) => status === 504 && text.includes('usage_timeout'));
  context.check(timedOut.length > 0, `no look-up gets 504 usage_timeout, but for instance ${lookUps[0]?.status}`);
  const others = lookUps.filter(({ status }) => status !== 504 && status !== 503);
  context.check(others.length === 0, `a look-up gets ${others[0]?.status}: ${others[0]?.text}`);
  const slowestMs = Math.max(...lookUps.map(({ tookMs }) => tookMs));
  context.check(slowestMs < LATEST_MS, `a look-up took ${Math.round(slowestMs)} ms`);
}

const run = promisify(execFile);

async function restoreCopy(context: CellContext): Promise<void> {
  const { dataDir } = context.stack;
  const data = join(dataDir, 'postgres');
  const copy = join(dataDir, 'postgres-copy');
  const fault = kill('postgres');
  let isCopied = false;
  const calls = await breakUnderLoad(context, {
    fault: {
      ...fault,
      async strike() {
        await fault.strike(context);
        if (isCopied) {
          await run('rm', ['-rf', data]);
          await run('mv', [copy, data]);
        } else {
          await run('cp', ['-a', data, copy]);
          isCopied = true;
        }
      },
    },
    forMs: 100,
    times: 2,
  });
  context.checkOutcomes(calls, { ok: true });
}
