import type { Context, Report } from '../cli/command.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { listDeadLetters } from '../commands/deadLetters.ts';
import { listHolds } from '../commands/holds.ts';
import { listOverdueJobs } from '../commands/media.ts';
import { showRecovery } from '../commands/showRecovery.ts';
import { showStatus } from '../commands/showStatus.ts';

/** A part of the operator's page. */
export interface Part {
  title: string;
  report(context: Context): Promise<Report>;
}

const QUEUES = [
  { title: 'model' },
  { title: 'engines', isNumber: true },
  { title: 'healthy', isNumber: true },
  { title: 'open calls', isNumber: true },
  { title: 'running', isNumber: true },
  { title: 'waiting', isNumber: true },
];

/** Reports what each model has under way, and what waits in the router that answers. */
async function reportQueues({ services, readHealth, table }: Context): Promise<Report> {
  const [{ engines }, { metrics }] = await Promise.all([services.router.listEngines(), readHealth('model-router')]);
  const byModel = Object.groupBy(engines, ({ model }) => model ?? '-');
  const rows = Object.entries(byModel).map(([model, of = []]) => {
    const sum = (name: 'open_calls' | 'running' | 'waiting') =>
      String(of.reduce((total, engine) => total + (engine[name] ?? 0), 0));
    const healthy = of.filter(({ is_healthy: isHealthy }) => isHealthy).length;
    return [model, String(of.length), String(healthy), sum('open_calls'), sum('running'), sum('waiting')];
  });
  const queued = metrics.get('turnpike_queued_calls') ?? null;
  const shown = rows.length > 0 ? table(QUEUES, rows) : 'There are no engines.';
  return {
    document: { engines, queued_calls: queued },
    text: `${shown}\nCalls that wait for an engine in the router that answers: ${queued ?? '?'}.`,
    isFailure: engines.some(({ is_healthy: isHealthy }) => !isHealthy),
  };
}

/** Reports when the ledger last checked its books. A check of now would read all of them. */
async function reportBooks({ readHealth }: Context): Promise<Report> {
  const { state, metrics } = await readHealth('usage-ledger');
  if (state === 'no_answer') throw new RefusedError('usage-ledger cannot be reached.');
  const seconds = metrics.get('turnpike_ledger_reconciled_timestamp_seconds') ?? Number.NaN;
  const checkedAt = Number.isFinite(seconds) && seconds > 0 ? new Date(seconds * 1_000).toISOString() : undefined;
  const differing = metrics.get('turnpike_ledger_mismatch_total') ?? 0;
  return {
    document: { checked_at: checkedAt ?? null, mismatches: differing },
    text: [
      checkedAt === undefined ? 'The books were not checked yet.' : `The books were last checked at ${checkedAt}.`,
      `Checks that differed since the replica that answers began: ${differing}.`,
    ].join('\n'),
    isFailure: differing > 0,
  };
}

/** The parts of each region, by the end of their paths. */
export const REGION_PARTS: Record<string, Part> = {
  fleet: { title: 'Fleet', report: (context) => showStatus.run({}, context) },
  queues: { title: 'Queues', report: reportQueues },
  recovery: { title: 'Recovery', report: (context) => showRecovery.run({}, context) },
  reconciliation: { title: 'Reconciliation', report: reportBooks },
  'dead-letters': { title: 'Dead letters', report: (context) => listDeadLetters.run({}, context) },
  'overdue-jobs': { title: 'Overdue jobs', report: (context) => listOverdueJobs.run({}, context) },
};

/** The parts of the account layer. */
export const ACCOUNT_PARTS: Record<string, Part> = {
  holds: { title: 'Organizations with open holds', report: (context) => listHolds.run({}, context) },
};
