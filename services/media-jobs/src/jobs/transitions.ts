import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { Sql, sql } from '@turnpike/postgres/sql';
import type { Replica } from '../terms/backend.ts';
import type { JobErrorCode, StoredOutput } from '../terms/job.ts';
import { interval, type JobState } from './table/jobRow.ts';
import { type RunTimes, STORE_MS } from './times.ts';

export const UNDER_WAY = ['submitting', 'running', 'storing'] as const;
export const OPEN = ['queued', ...UNDER_WAY] as const;
export const ENDED = ['completed', 'failed', 'cancelled'] as const;

/** One transition of a job. `Values` are the arguments of its statement. */
interface Transition<Values> {
  /** States of a job that may take the step. */
  from: readonly JobState[];
  /** State after the step. A step without `to` keeps the state. */
  to?: JobState;
  /** Columns that the step sets, besides `state`, `version` and `due_at`. */
  sets?: (values: Values) => Sql;
  /**
   * Instant from which a worker takes the job. The step is its worker's last, because a lease renewal cannot move this
   * instant.
   */
  due?: (values: Values) => Sql;
  /** Result of the attempt, for the metrics. */
  counts?: (values: Values) => string;
}

/** Values of a job's end, from `toEnd`. The row has the completion event from then until its call is settled. */
export interface EndValues {
  units: number;
  event: UsageRecorded;
  outputs: StoredOutput[];
  errorCode: JobErrorCode | null;
  /** Times from the end: until the owner settles the call, until clients get 404, until the bytes are removed. */
  settledAfterMs: number;
  shownMs: number;
  keptMs: number;
  /** Result of the attempt. */
  result: string;
}

interface BeginValues {
  replica: Pick<Replica, 'id'>;
  leaseMs: number;
  runTimes: RunTimes;
}

const transition = <Values = void>(fields: Transition<Values>): Transition<Values> => fields;
const NOW = () => sql`now()`;
const inMs = (ms: number) => sql`now() + ${interval(ms)}`;
const dueIn = ({ dueInMs }: { dueInMs: number }) => inMs(dueInMs);
const lease = ({ leaseMs }: { leaseMs: number }) => inMs(leaseMs);
const resultOf = ({ result }: { result: string }) => result;

/** State, charge, completion event and outputs change in one statement, so that no crash separates them. */
const end = ({ units, event, outputs, errorCode, shownMs, keptMs }: EndValues) => sql`
  units = ${units}, charge_nano_usd = ${event.chargeNanoUsd}, error_code = ${errorCode},
  event = ${toUsageRecordedJson(event)}::JSONB || jsonb_build_object('endedAtMs',
    ${event.startedAtMs}::BIGINT + (extract(epoch FROM clock_timestamp() - created_at) * 1000)::BIGINT),
  outputs = ${JSON.stringify(outputs)}::JSONB, ended_at = now(), expires_at = ${inMs(shownMs)}, remove_at = ${inMs(keptMs)}`;
const settledLater = ({ settledAfterMs }: EndValues) => inMs(settledAfterMs);

/**
 * All transitions of a job, which begins as `queued` (`insertJob`). Each is one update of the row that raises
 * `version`. Most are a compare-and-set on the `version` that the process has read (`stepJob`). Three changes raise no
 * version and are no transitions: lease renewals (`renewLease`), the creator's confirmation (`letBegin`), and a new
 * owner of the money (`followOwners`).
 */
export const TRANSITIONS = {
  /** The job has its turn. Attempt and replica are committed before the replica is asked. */
  begin: transition<BeginValues>({
    from: ['queued'],
    to: 'submitting',
    sets: ({ replica, runTimes }) => sql`
      attempt = attempt + 1, attempts_counted = attempts_counted + 1, replica = ${replica.id}, backend_id = NULL,
      missing_since = NULL, sent_at = now(), begun_at = coalesce(begun_at, now()),
      deadline_at = CASE
        WHEN begun_at IS NOT NULL THEN deadline_at
        WHEN modality = 'image' AND params ->> 'isAsync' = 'false' THEN created_at + ${interval(runTimes.waitedForMs)}
        WHEN modality = 'image' THEN ${inMs(runTimes.imageMs)}
        WHEN modality = 'audio' THEN ${inMs(runTimes.audioMs)}
        ELSE ${inMs(runTimes.videoMs)} END`,
    due: lease,
  }),
  /** Another worker takes the job: the next poll is due, or the lease has lapsed. */
  takeWork: transition<{ leaseMs: number }>({ from: UNDER_WAY, due: lease }),

  /** The worker renders an image, speech or a transcript. */
  render: transition({ from: ['submitting'], to: 'running' }),
  /** One image of several is stored. */
  advance: transition<{ progress: number }>({
    from: ['running'],
    sets: ({ progress }) => sql`progress = ${progress}`,
  }),
  /** A backend has taken a clip under its own id. */
  submit: transition<{ backendId: string; dueInMs: number }>({
    from: ['submitting'],
    to: 'running',
    sets: ({ backendId }) => sql`backend_id = ${backendId}`,
    due: dueIn,
  }),
  /** A backend is at work on a clip. */
  follow: transition<{ progress: number; dueInMs: number }>({
    from: ['running'],
    sets: ({ progress }) => sql`missing_since = NULL, progress = greatest(progress, ${progress})`,
    due: dueIn,
  }),
  /** The clip's state is unknown, because its backend or the object store does not answer. */
  askAgain: transition<{ dueInMs: number }>({ from: ['running', 'storing'], due: dueIn }),
  /** The backend is gone, or does not have the clip. */
  miss: transition<{ dueInMs: number }>({
    from: ['running', 'storing'],
    sets: () => sql`missing_since = coalesce(missing_since, now())`,
    due: dueIn,
  }),
  /** A backend has completed a clip. */
  store: transition<{ progress: number }>({
    from: ['running'],
    to: 'storing',
    sets: ({ progress }) => sql`missing_since = NULL, progress = ${progress}, deadline_at = ${inMs(STORE_MS)}`,
  }),
  /** The attempt gave nothing, and counts. */
  retry: transition<{ result: string }>({
    from: UNDER_WAY,
    to: 'queued',
    sets: () => sql`progress = 0`,
    due: NOW,
    counts: resultOf,
  }),
  /** The replica began nothing, so that the attempt does not count. */
  turnAway: transition<{ result: string; dueInMs: number }>({
    from: ['submitting', 'running'],
    to: 'queued',
    sets: () => sql`attempts_counted = attempts_counted - 1`,
    due: dueIn,
    counts: resultOf,
  }),

  /** All outputs are stored. A kept answer ends so in the transaction that makes its row. */
  complete: transition<EndValues>({
    from: ['queued', 'running', 'storing'],
    to: 'completed',
    sets: (values) => sql`progress = 100, ${end(values)}`,
    due: settledLater,
    counts: resultOf,
  }),
  fail: transition<EndValues>({ from: OPEN, to: 'failed', sets: end, due: settledLater, counts: resultOf }),
  /** The client cancels the job, and sees nothing of it from then on. */
  cancel: transition<EndValues>({ from: OPEN, to: 'cancelled', sets: end, due: settledLater, counts: resultOf }),

  /** The owner takes an ended job: a step of its end is due, or the lease has lapsed. */
  takeEnded: transition<{ leaseMs: number }>({ from: ENDED, due: lease }),
  /** The completion event is in the spool, so the charge replaces the hold. */
  settle: transition({ from: ENDED, sets: () => sql`settled_at = now()` }),
  /** The process that kept an answer has settled its call. */
  settleAnswer: transition({ from: ['completed'], sets: () => sql`settled_at = now()`, due: () => sql`remove_at` }),
  /** The backend has removed its job. */
  clearBackend: transition({ from: ENDED, sets: () => sql`backend_cleared_at = now()` }),
  removeInputs: transition({ from: ENDED, sets: () => sql`inputs = '[]'` }),
  /** The object store has no object of the job. Counts and hashes of the outputs stay. */
  remove: transition<{ outputs: Omit<StoredOutput, 'key'>[] }>({
    from: ENDED,
    sets: ({ outputs }) => sql`sealed_texts = NULL, outputs = ${JSON.stringify(outputs)}::JSONB, removed_at = now()`,
  }),
  /** The client deletes an ended job. Its expiry also hides it from reads that began before this step. */
  hide: transition({ from: ENDED, sets: () => sql`expires_at = created_at, remove_at = now()`, due: NOW }),
  /** All due steps were tried. No step is left if both times are null. */
  rest: transition<{ againInMs: number | null; removeAt: Date | null }>({
    from: ENDED,
    due: ({ againInMs, removeAt }) =>
      sql`least(${againInMs === null ? sql`NULL` : inMs(againInMs)}, ${removeAt}::TIMESTAMPTZ)`,
  }),
};

export type TransitionName = keyof typeof TRANSITIONS;
type ValuesOf<Name extends TransitionName> =
  (typeof TRANSITIONS)[Name] extends Transition<infer Values> ? Values : never;
/** Values of a transition as the last argument of a function: none where the transition has none. */
export type Given<Name extends TransitionName> = ValuesOf<Name> extends void ? [] : [values: ValuesOf<Name>];

/** Returns the transition of a name, with the values that it is given. */
export function toStep<Name extends TransitionName>(name: Name, [values]: Given<Name> | []) {
  const { from, to, sets, due, counts } = TRANSITIONS[name] as Transition<unknown>;
  const assignments = [
    // The name shows in the log of slow statements and in `pg_stat_activity`.
    sql`version = version + 1 ${new Sql([`/* ${name} */`], [])}`,
    ...(to ? [sql`state = ${to}`] : []),
    ...(sets ? [sets(values)] : []),
    ...(due ? [sql`due_at = ${due(values)}`] : []),
  ];
  return {
    from,
    isLast: due !== undefined,
    assignments: assignments.reduce((all, each) => sql`${all}, ${each}`),
    result: counts?.(values),
  };
}
