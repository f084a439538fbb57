import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/createDb.ts';
import { CHECKS, type WorkspaceReport } from './check.ts';
import type { Reconciled } from './reconcile.ts';

export interface ScheduleOptions {
  db: Db;
  log: Logger;
  telemetry: Pick<Telemetry, 'meter'>;
  /** Time between the starts of two runs, over all replicas. */
  intervalMs: number;
  /** Interval at which each replica checks whether a run is due. */
  pollMs?: number;
  /** Seals and checks all workspaces, beginning after `afterWorkspace`. May reject early if the signal fires. */
  run: (run: { afterWorkspace: string; signal: AbortSignal }) => Promise<Reconciled>;
}

/** Longest run. The next run seals the rest. */
const LONGEST_RUN_MS = 15 * 60 * 1_000;
/** Most delay between the due time and the start of a run. */
const LATEST_BEGIN_MS = 60_000;

/**
 * Reconciles all workspaces once an interval in the region, with any number of replicas. Every difference raises an
 * alert: a line in the log and a count in `turnpike_ledger_mismatch_total`.
 */
export function scheduleReconciliation({
  db,
  log,
  telemetry,
  intervalMs,
  pollMs = Math.ceil(Math.min(intervalMs / 4, LATEST_BEGIN_MS)),
  run,
}: ScheduleOptions): Repetition {
  const mismatches = telemetry.meter.createCounter('turnpike_ledger_mismatch_total', {
    description: 'Checks of the books whose two sides differed.',
  });
  mismatches.add(0);
  createAskedGauge(telemetry.meter, {
    name: 'turnpike_ledger_reconciled_timestamp_seconds',
    description:
      'When reconciliation last came to its end in the region, whatever it found; NaN before the first time.',
    ask: () => readSuccess(db),
  });

  function report({ workspaceId, checks, doubts }: WorkspaceReport): void {
    for (const { name, left, right, verdict } of checks) {
      if (verdict !== 'different') continue;
      mismatches.add(1);
      const sides = { left: String(left), right: String(right) };
      log.error({ workspaceId, check: CHECKS[name], ...sides }, 'ALERT the books differ');
    }
    if (doubts.length > 0) log.warn({ workspaceId, doubts }, 'some of the books could not be checked');
  }

  async function runIfDue(signal: AbortSignal): Promise<void> {
    // This transaction only holds a lock. All writes use other connections, so that it does not hold up vacuum.
    await db.transaction(async (tx) => {
      const [row] = await tx.query(sql<{ is_mine: boolean }>`
          SELECT pg_try_advisory_xact_lock(hashtext('reconcile')) AS is_mine`);
      if (!row?.is_mine) return;
      await tx.execute(sql`SELECT set_config('idle_in_transaction_session_timeout', ${String(LONGEST_RUN_MS)}, true)`);
      const begun = await beginRun(db, intervalMs);
      if (!begun) return;
      const { reports, lastWorkspace, unasked } = await run({ ...begun, signal });
      for (const found of reports) report(found);
      if (unasked > 0)
        log.warn({ unasked, lastWorkspace }, 'not every workspace was held against Redis: more in the next run');
      await endRun(db, lastWorkspace);
    });
  }

  return repeat(runIfDue, {
    pauseMs: pollMs,
    pausesFirst: true,
    log,
    failing: 'books not checked, trying again later',
  });
}

/** Notes the start of a run. Returns undefined if none is due. */
async function beginRun(db: Db, intervalMs: number): Promise<{ afterWorkspace: string } | undefined> {
  const [begun] = await db.query(sql<{ afterWorkspace: string }>`
    UPDATE reconciliation SET started_at = clock_timestamp()
    WHERE started_at <= clock_timestamp() - make_interval(secs => ${intervalMs / 1_000})
    RETURNING after_workspace AS "afterWorkspace"`);
  return begun;
}

/** Notes that a run for an operator has checked all books. */
export const noteReconciled = (db: Db) => db.execute(sql`UPDATE reconciliation SET succeeded_at = clock_timestamp()`);

const endRun = (db: Db, lastWorkspace: string) =>
  db.execute(sql`
  UPDATE reconciliation SET succeeded_at = clock_timestamp(), after_workspace = ${lastWorkspace}`);

async function readSuccess(db: Db): Promise<number> {
  const [row] = await db.query(sql<{ seconds: number | null }>`
    SELECT extract(epoch FROM succeeded_at)::FLOAT AS seconds FROM reconciliation`);
  return row?.seconds ?? Number.NaN;
}
