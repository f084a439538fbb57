import type { Sql } from '@turnpike/postgres/sql';
import type { JobDependencies } from '../../src/jobs/dependencies.ts';
import type { JobState } from '../../src/jobs/table/jobRow.ts';
import { TRANSITIONS, type TransitionName } from '../../src/jobs/transitions.ts';
import { through } from '../openTestJobs.ts';
import { transitionOf } from '../transitionOf.ts';

/** Transitions and other statements of a process that a test may stop. */
const STEPS: Partial<Record<TransitionName, StatementKind>> = {
  takeWork: 'take work',
  takeEnded: 'take ended',
  complete: 'end',
  fail: 'end',
  cancel: 'end',
  hide: 'hide',
};
const OTHERS = [
  ['find', /FROM job WHERE job_id = \$\d+ AND key_id = \$\d+/],
  ['list late', /FROM job\s+WHERE deadline_at <= now\(\)/],
  ['take over', /UPDATE job SET owner =/],
  ['beat', /INSERT INTO owner/],
] as const;
export type StatementKind = (typeof OTHERS)[number][0] | 'take work' | 'take ended' | 'end' | 'hide';

const COMES_WITHIN_MS = 45_000;
const JOB_ID = /^(video|job)_[0-9A-Za-z]{22}$/;

export interface Statement {
  kind: StatementKind;
  /** The job of the statement, if it is about one job. */
  jobId: string | undefined;
  /** The end that an `end` gives its job. */
  state: JobState | undefined;
  /** How many rows it has changed or found, once it is done. */
  rows?: number;
}

/** When a statement was sent, and when its answer was there, by this process' clock. */
export interface Passage {
  sentAt: number;
  answeredAt: number;
}

/** A statement that is about to be sent, and waits for its word. */
export interface Stand {
  go(): void;
  passed: Promise<Passage>;
}

/** The statements of a process to its database, which can be stopped on their way. */
export interface Doors {
  db: JobDependencies['db'];
  /** Stops matching statements from now on. */
  shut(...wanted: Wanted[]): void;
  /** Releases all stopped statements, unless a caller waits to do so, and lets the next ones pass. */
  open(...wanted: Wanted[]): void;
  /** Lets everything pass from here on, also what somebody has stopped. */
  openAll(): void;
  /** Resolves with the first statement like this that stands, or comes from here on: it is the caller's to send. */
  stop(wanted: Wanted): Promise<Stand>;
  /** Resolves once one like this stands which is nobody's. */
  untilStanding(wanted: Wanted): Promise<void>;
}

export type Wanted = Pick<Statement, 'kind'> & Partial<Pick<Statement, 'jobId' | 'state'>>;

/** Puts doors before a database. `onDone` hears of every statement of these kinds that has been answered. */
export function openDoors(db: JobDependencies['db'], { onDone }: { onDone: (statement: Statement) => void }): Doors {
  const shut: Wanted[] = [];
  const stops: { wanted: Wanted; take: (stand: Stand) => void }[] = [];
  const standing: { statement: Statement; stand: Stand }[] = [];
  const all = new Set<Stand>();
  const lookouts: { wanted: Wanted; see: () => void }[] = [];

  async function send<Result>(statement: Statement, query: () => Promise<Result>): Promise<Result> {
    const told = Promise.withResolvers<void>();
    const passed = Promise.withResolvers<Passage>();
    const stand: Stand = { go: told.resolve, passed: passed.promise };
    all.add(stand);
    const stop = stops.findIndex(({ wanted }) => isLike(statement, wanted));
    if (stop >= 0) stops.splice(stop, 1)[0]?.take(stand);
    else if (shut.some((wanted) => isLike(statement, wanted))) {
      standing.push({ statement, stand });
      for (let at = lookouts.length - 1; at >= 0; at -= 1)
        if (isLike(statement, (lookouts[at] as (typeof lookouts)[number]).wanted)) lookouts.splice(at, 1)[0]?.see();
    } else told.resolve();
    await told.promise;
    const sentAt = performance.now();
    try {
      const result = await query();
      onDone({ ...statement, rows: Array.isArray(result) ? result.length : Number(result) });
      return result;
    } finally {
      passed.resolve({ sentAt, answeredAt: performance.now() });
      all.delete(stand);
    }
  }

  async function pass<Result>(ask: () => Promise<Result>, sent?: Sql): Promise<Result> {
    if (!sent) return ask();
    const step = transitionOf(sent.text);
    const kind = step ? STEPS[step] : OTHERS.find(([, pattern]) => pattern.test(sent.text))?.[0];
    if (!kind) return ask();
    const jobId = sent.values.find((value): value is string => typeof value === 'string' && JOB_ID.test(value));
    return send({ kind, jobId, state: step && TRANSITIONS[step].to }, ask);
  }

  return {
    db: through(db, pass),
    shut: (...wanted) => void shut.push(...wanted),
    open(...wanted) {
      for (const each of wanted) {
        for (let at = shut.length - 1; at >= 0; at -= 1) if (isLike(shut[at] as Wanted, each)) shut.splice(at, 1);
        for (let at = standing.length - 1; at >= 0; at -= 1)
          if (isLike((standing[at] as (typeof standing)[number]).statement, each))
            standing.splice(at, 1)[0]?.stand.go();
      }
    },
    stop(wanted) {
      const at = standing.findIndex(({ statement }) => isLike(statement, wanted));
      if (at >= 0) return Promise.resolve((standing.splice(at, 1)[0] as (typeof standing)[number]).stand);
      return within(wanted, (take) => stops.push({ wanted, take }));
    },
    async untilStanding(wanted) {
      if (standing.some(({ statement }) => isLike(statement, wanted))) return;
      await within<void>(wanted, (see) => lookouts.push({ wanted, see }));
    },
    openAll() {
      shut.length = 0;
      stops.length = 0;
      for (const stand of all) stand.go();
    },
  };
}

/** Rejects where what is waited for does not come. */
async function within<Value>(wanted: Wanted, wait: (come: (value: Value) => void) => void): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const timer = setTimeout(() => reject(new Error(`nobody came to ${JSON.stringify(wanted)}`)), COMES_WITHIN_MS);
  wait(resolve);
  return promise.finally(() => clearTimeout(timer));
}

/** Whether it is all that is wanted. */
const isLike = (found: Wanted, { kind, jobId, state }: Wanted): boolean =>
  found.kind === kind &&
  (jobId === undefined || found.jobId === jobId) &&
  (state === undefined || found.state === state);
