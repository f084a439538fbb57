import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/createDb.ts';
import { CHECKS, type WorkspaceReport } from './check.ts';

export interface ScheduleOptions {
  db: Db;
  log: Logger;
  telemetry: Pick<Telemetry, 'meter'>;
  intervalMs: number;
  /** Checks all workspaces; may end early, in an error, where the signal fires. */
  run: (signal: AbortSignal) => Promise<WorkspaceReport[]>;
}

/** Longest run: an hour's worth of rows is read in seconds, a year's in minutes. */
const LONGEST_RUN_MS = 15 * 60 * 1_000;

/**
 * Reconciles all workspaces again and again, in one replica at a time, and raises an alert for every difference: a line in
 * the log and a count in `turnpike_ledger_mismatch_total`.
 */
export function scheduleReconciliation({ db, log, telemetry, intervalMs, run }: ScheduleOptions): Repetition {
  const mismatches = telemetry.meter.createCounter('turnpike_ledger_mismatch_total', {
    description: 'Checks of the books whose two sides differed.',
  });
  mismatches.add(0);

  function report({ workspaceId, checks, doubts }: WorkspaceReport): void {
    for (const { name, left, right, verdict } of checks) {
      if (verdict !== 'different') continue;
      mismatches.add(1);
      const sides = { left: String(left), right: String(right) };
      log.error({ workspaceId, check: CHECKS[name], ...sides }, 'ALERT the books differ');
    }
    if (doubts.length > 0) log.warn({ workspaceId, doubts }, 'some of the books could not be checked');
  }

  async function runAlone(signal: AbortSignal): Promise<void> {
    await db.$transaction(
      async (tx) => {
        const [row] = await tx.$queryRaw<{ is_mine: boolean }[]>`
          SELECT pg_try_advisory_xact_lock(hashtext('reconcile')) AS is_mine`;
        if (row?.is_mine) for (const found of await run(signal)) report(found);
      },
      { timeout: LONGEST_RUN_MS },
    );
  }

  return repeat(runAlone, {
    pauseMs: intervalMs,
    pausesFirst: true,
    log,
    failing: 'books not checked, trying again later',
  });
}
