import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readCredits, readRows } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { freeze, kill, reset } from '../fault.ts';
import type { CallRecord } from '../load/callRecord.ts';
import { startPostgresBackup } from '../stack/postgresBackup.ts';

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
        await context.stack.parts.freeze('postgres');
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
    breaks: 'Postgres dies and comes back as it was seconds before, as from a snapshot of its disk',
    holds: 'what was lost is read again before balances are given, and those are newer',
    eventLog: 'kafka',
    run: restoreCopy,
  },
  'postgres-restored-to-a-point': {
    breaks: 'the disk of Postgres is lost, and it is restored from a backup and its archived log to a moment before',
    holds: 'every row since comes back from Kafka, none twice; a credit given since is gone until it is given again',
    eventLog: 'kafka',
    serviceSettings: {},
    run: restoreToPoint,
  },
  'standby-lost-commits': {
    breaks: 'Postgres dies, and a standby takes over that lacks its last commits, on a timeline of its own',
    holds: 'the ledger reads the event log again before it gives balances; every call has its row, every sum is whole',
    eventLog: 'kafka',
    run: (context) => failOver(context, { losesLog: false }),
  },
  'standby-lost-commits-embedded': {
    breaks: 'the same where Postgres is the event log as well',
    holds:
      'rows that were absorbed are lost with it, and no others: what was not absorbed is sent again; sums are whole',
    eventLog: 'embedded',
    serviceSettings: {},
    run: (context) => failOver(context, { losesLog: true }),
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
  // A call whose balances are not loaded while the ledger gives none cannot be counted.
  context.checkOutcomes(calls, { ok: true, '503': true });
}

const CREDIT_NANO_USD = 7_000_000_000n;

async function restoreToPoint(context: CellContext): Promise<void> {
  const { ledger, operator, parts } = context.stack;
  const { workspaceId } = context.account;
  const countRows = async (): Promise<number> => (await readRows(ledger, [workspaceId])).length;
  const hasCredit = async (): Promise<boolean> =>
    (await readCredits(ledger, [workspaceId])).some(({ amount }) => amount === CREDIT_NANO_USD);
  const creditId = randomUUID();
  const giveCredit = (): Promise<void> => operator.addCredit(workspaceId, CREDIT_NANO_USD, creditId);
  const backup = await startPostgresBackup(context.stack);
  await context.repaired();

  const load = context.startLoad({ calls: context.calls });
  const untilSent = (share: number): Promise<void> => load.untilSent(Math.floor(context.calls * share));
  await untilSent(0.2);
  await backup.copyFiles();
  await untilSent(0.3 + 0.1 * context.random.share());
  const moment = await backup.readClock();
  const momentAt = performance.now();
  await giveCredit();
  await untilSent(0.7);
  await backup.archiveLog();
  const before = await countRows();
  await parts.kill('postgres');
  const lostAt = performance.now();
  await backup.restore(moment);
  // The ledger would have begun to read again before the check.
  await parts.freeze('usage-ledger');
  await parts.restart('postgres');
  const restoredMs = performance.now() - lostAt;
  const restored = await countRows();
  context.check(restored > 0 && restored < before, `of ${before} rows ${restored} were restored`);
  context.check(!(await hasCredit()), 'the credit that was given later was restored');
  parts.thaw('usage-ledger');
  await context.until('the rows to be back', async () => (await countRows()) >= before, SENT_AGAIN_WITHIN_MS);
  const backMs = performance.now() - lostAt;
  await context.repaired();
  context.check(!(await hasCredit()), 'the credit came back by itself');
  await giveCredit();
  await giveCredit();
  context.checkOutcomes(await load.done, { ok: true, '503': true });
  const toSeconds = (ms: number): string => (ms / 1_000).toFixed(1);
  context.notes.push(
    `restored to ${toSeconds(lostAt - momentAt)} s before, after ${toSeconds(restoredMs)} s with ${restored} of ${before} rows; all of them were back after ${toSeconds(backMs)} s`,
  );
}

/** An event that was sent and is not recorded is sent again half a minute later. */
const SENT_AGAIN_WITHIN_MS = 60_000;
/** From a call's end to its row, at most, on a machine that does much else. */
const RECORDED_WITHIN_MS = 5_000;

async function failOver(context: CellContext, { losesLog }: { losesLog: boolean }): Promise<void> {
  const { dataDir, ledger } = context.stack;
  const data = join(dataDir, 'postgres');
  const standby = join(dataDir, 'postgres-standby');
  const fault = kill('postgres');
  let [copiedAt, failedAt] = [0, 0];
  const calls = await breakUnderLoad(context, {
    fault: {
      ...fault,
      async strike() {
        await fault.strike(context);
        if (copiedAt === 0) {
          await run('cp', ['-a', data, standby]);
          copiedAt = Date.now();
          return;
        }
        failedAt = Date.now();
        // The standby ends its recovery at once, because there is no more log, and begins a timeline.
        await appendFile(join(standby, 'postgresql.auto.conf'), "restore_command = 'false'\n");
        await writeFile(join(standby, 'recovery.signal'), '');
        await run('rm', ['-rf', data]);
        await run('mv', [standby, data]);
      },
    },
    forMs: 100,
    times: 2,
  });
  context.checkOutcomes(calls, { ok: true, '503': true });
  // The control file has the new timeline only after the next checkpoint, the names of its log's files at once.
  const { rows } = await ledger.query('SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline');
  context.check(Number.parseInt(rows[0]?.timeline, 16) > 1, 'the standby began no timeline of its own');
  if (!losesLog) return;
  const isAtRisk = ({ endedAt }: CallRecord): boolean => endedAt > copiedAt - RECORDED_WITHIN_MS && endedAt < failedAt;
  const findLost = async () => {
    const recorded = new Set((await readRows(ledger, [context.account.workspaceId])).map(({ callId }) => callId));
    return context.records.filter(({ isAdmitted, callId = '' }) => isAdmitted && !recorded.has(callId));
  };
  await context.until(
    'a row of every call but those that were recorded by what is gone',
    async () => (await findLost()).every(isAtRisk),
    SENT_AGAIN_WITHIN_MS,
  );
  await pause(SENT_AGAIN_WITHIN_MS / 2);
  const lost = await findLost();
  for (const { callId = '' } of lost) context.rules.goneWithPostgres.add(callId);
  context.notes.push(`${lost.length} rows are gone with the old primary`);
}
