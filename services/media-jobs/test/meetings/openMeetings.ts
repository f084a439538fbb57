import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { sql } from '@turnpike/postgres/sql';
import { noMediaMetrics } from '@turnpike/telemetry/noTelemetry';
import type { JobDependencies } from '../../src/jobs/dependencies.ts';
import { JOB_COLUMNS, type JobRow } from '../../src/jobs/table/jobRow.ts';
import type { ShownJob } from '../../src/terms/job.ts';
import { aFault, aReplica, someBackends } from '../aBackend.ts';
import { aCall, anImageRequest, aVideoRequest, type CalledJobs, eventually, openTestJobs } from '../openTestJobs.ts';
import { type Contender, type Meeting, PROCESSES } from './drawMeetings.ts';
import { type Doors, openDoors, type Passage, type Stand, type Statement, type Wanted } from './openDoors.ts';

/** The observations of a job that several contenders ended. */
export interface Met {
  meeting: Meeting;
  worker: number;
  jobId: string;
  /** When each contender sent what it stood before, in the order in which they were let go. */
  passages: Passage[];
  /** All ends that somebody wanted to give it, by process; `rows` is 1 where it had it. */
  ends: (Statement & { process: number })[];
  /** The answer to each DELETE: whether the job existed. */
  deleted: boolean[];
  /** The answer to each poll. */
  seen: (ShownJob | undefined)[];
  /** The answer to a client that waited for its end; null if no client waited. */
  awaited: ShownJob | undefined | null;
  /** Settled, and with nothing left to do until its removal. */
  row: JobRow;
  settlements: UsageRecorded[];
  /** How often its hold was given back as that of no job, and how often its end was counted. */
  released: number;
  counted: number;
  /** The client's view at the end, and whether the result could be read. */
  shown: ShownJob | undefined;
  isReadable: boolean;
  objects: string[];
}

export interface Meetings {
  /** Ends a batch of jobs, and removes their remains. */
  hold(meetings: Meeting[], worker: number): Promise<Met[]>;
  /** Attempts that the processes have counted, and that the rows have. */
  countAttempts(): Promise<{ counted: number; made: number }>;
  objectsLeft(): Promise<string[]>;
  close(): Promise<void>;
}

const MODEL = 'a-model';
const REPLICA = 'replica-1';
/** Longer than the test: leases and owners pass when the test says so. */
const NEVER_MS = 3_600_000;
/** An owner that has never said that it lives. */
export const NOBODY = 'owner-that-is-gone';
const BATCH_MS = 60_000;

interface Process {
  jobs: CalledJobs;
  doors: Doors;
}

/** A job that is just before its end. */
interface Ready {
  meeting: Meeting;
  jobId: string;
  keyId: string;
  callId: string;
  /** The position of its worker. */
  stand: Stand | undefined;
}

export async function openMeetings(): Promise<Meetings> {
  const test = await openTestJobs();
  const { db, books, store } = test;
  const counted = new Map<string, number>();
  let attempts = 0;
  const metrics: JobDependencies['metrics'] = {
    ...noMediaMetrics,
    jobEnded(job) {
      const { jobId } = job as JobRow;
      counted.set(jobId, (counted.get(jobId) ?? 0) + 1);
    },
    attemptEnded() {
      attempts += 1;
    },
  };
  let ends: Met['ends'] = [];
  /** Whose replica is up: it alone begins jobs. */
  let worker = 0;
  let settledBefore = 0;

  const backends = someBackends(aReplica({ id: REPLICA, model: MODEL, slots: 64 }));
  const replica = backends.of(REPLICA);
  const isRefused = (prompt: string): boolean => prompt.startsWith('refused');
  const render = replica.onImage;
  replica.onImage = async (prompt, signal) => {
    if (isRefused(prompt)) throw aFault('content_refused');
    return render(prompt, signal);
  };
  replica.afterClip = () => {
    for (const clip of replica.clips.values())
      Object.assign(
        clip,
        isRefused(clip.prompt) ? { status: 'failed', failure: 'content_refused' } : { status: 'completed' },
      );
  };

  const processes: Process[] = [];
  for (let at = 0; at < PROCESSES; at += 1) {
    const doors = openDoors(test.connect(), {
      onDone: (statement) => {
        if (statement.kind === 'end') ends.push({ ...statement, process: at });
      },
    });
    const jobs = await test.open({
      db: doors.db,
      lookUpDb: doors.db,
      backends: { ...backends, list: () => [{ replica: replica.replica, isUp: at === worker }] },
      metrics,
      pollMs: 5,
      leaseMs: NEVER_MS,
      owners: { livesMs: NEVER_MS, beatMs: 20 },
    });
    doors.shut({ kind: 'beat' });
    processes.push({ jobs, doors });
  }
  const processOf = (at: number): Process => processes[at] as Process;

  /** Brings all jobs of a batch to the step at which their workers would end them, or completes them if the meeting says so. */
  async function prepare(meetings: Meeting[]): Promise<Ready[]> {
    for (const { doors } of processes) doors.shut({ kind: 'list late' }, { kind: 'take over' });
    const { doors } = processOf(worker);
    const atEnd: Wanted[] = [
      { kind: 'end', state: 'completed' },
      { kind: 'end', state: 'failed' },
    ];
    doors.shut(...atEnd);
    doors.open({ kind: 'list late' });
    const made = await Promise.all(meetings.map(makeJob));
    let areReady = false;
    const polling = (async () => {
      // Their first polls are due at once.
      while (!areReady)
        await eventually(
          () =>
            db.execute(sql`
            UPDATE job SET due_at = now() WHERE state = 'running' AND operation = 'videos'
              AND due_at BETWEEN now() AND now() + INTERVAL '2 seconds'`),
          (changed) => changed > 0 || areReady,
        );
    })();
    for (const ready of made) {
      const stand = await doors.stop({ kind: 'end', jobId: ready.jobId });
      if (ready.meeting.worker !== 'has completed') ready.stand = stand;
      else {
        stand.go();
        await stand.passed;
        // No process settles the job before it expires.
        if (ready.meeting.contenders.some(({ kind }) => kind === 'expiry'))
          await db.execute(sql`UPDATE job SET due_at = now() + INTERVAL '1 hour' WHERE job_id = ${ready.jobId}`);
      }
    }
    areReady = true;
    await polling;
    doors.shut({ kind: 'list late' });
    for (const each of processes)
      await Promise.all([
        each.doors.untilStanding({ kind: 'list late' }),
        each.doors.untilStanding({ kind: 'take over' }),
      ]);
    return made;
  }

  async function makeJob(meeting: Meeting): Promise<Ready> {
    const prompt = `${meeting.worker} ${meeting.index}`;
    const request =
      meeting.operation === 'videos'
        ? aVideoRequest({ model: MODEL, prompt })
        : anImageRequest({ model: MODEL, prompt });
    const call = aCall({ request, workspaceId: 'a-workspace' });
    const { id: jobId } = await processOf(meeting.maker).jobs.make(call);
    return { meeting, jobId, keyId: call.hold.keyId, callId: call.hold.callId, stand: undefined };
  }

  /** Brings one job's contenders to their start, then starts them. Resolves once all were answered. */
  async function meet(
    ready: Ready,
  ): Promise<Pick<Met, 'passages' | 'deleted' | 'seen' | 'awaited'> & { awaiting: unknown }> {
    const { meeting, jobId, keyId } = ready;
    // No process is in the middle of an earlier look, because it would see the job too soon.
    for (const { doors } of processes) await doors.untilStanding({ kind: 'list late' });
    const address = { jobId, keyId };
    const awaiting = meeting.isAwaited
      ? processOf((worker + 1) % PROCESSES).jobs.untilEnded(address, AbortSignal.timeout(BATCH_MS))
      : undefined;
    if (meeting.isLastAttempt) await db.execute(sql`UPDATE job SET attempts_counted = 2 WHERE job_id = ${jobId}`);
    const deleting: Promise<boolean>[] = [];
    const looking: Promise<ShownJob | undefined>[] = [];
    const come: Record<Contender['kind'], (contender: Contender) => Promise<Stand>> = {
      async delete({ process, stands }) {
        const { doors, jobs } = processOf(process);
        const step: Wanted = ready.stand ? { kind: 'end', jobId, state: 'cancelled' } : { kind: 'hide', jobId };
        const stand = doors.stop(stands === 'before its look' ? { kind: 'find', jobId } : step);
        deleting.push(jobs.remove(address));
        return stand;
      },
      async poll({ process }) {
        const { doors, jobs } = processOf(process);
        const stand = doors.stop({ kind: 'find', jobId });
        looking.push(jobs.find(address));
        return stand;
      },
      async takeover({ process }) {
        await db.execute(sql`UPDATE job SET due_at = now() - INTERVAL '1 second' WHERE job_id = ${jobId}`);
        const { doors } = processOf(process);
        return lookUntil(doors, { kind: 'take work' });
      },
      async deadline({ process, stands }) {
        await db.execute(sql`UPDATE job SET deadline_at = now() - INTERVAL '1 second' WHERE job_id = ${jobId}`);
        const { doors } = processOf(process);
        if (stands === 'before its look') return doors.stop({ kind: 'list late' });
        return lookUntil(doors, { kind: 'end', jobId, state: 'failed' });
      },
      async heir({ process }) {
        await db.execute(sql`UPDATE job SET owner = ${NOBODY} WHERE job_id = ${jobId}`);
        return processOf(process).doors.stop({ kind: 'take over' });
      },
      async expiry({ process }) {
        await db.execute(sql`
          UPDATE job SET expires_at = now() - INTERVAL '1 second', remove_at = now() - INTERVAL '1 second',
            due_at = now() - INTERVAL '1 second' WHERE job_id = ${jobId}`);
        const { doors } = processOf(process);
        return lookUntil(doors, { kind: 'take ended' });
      },
    };
    const stands = new Map<Contender, Stand>();
    // A late or expired job is so for every process, so contenders that have looked before do so first.
    for (const contender of meeting.contenders.toSorted((a, b) => TURNS.indexOf(a.kind) - TURNS.indexOf(b.kind)))
      if (contender.kind !== 'delete' || contender.stands === 'before its step')
        stands.set(contender, await come[contender.kind](contender));
    for (const contender of meeting.contenders)
      if (!stands.has(contender)) stands.set(contender, await come[contender.kind](contender));

    const starters = meeting.contenders.map((contender) => stands.get(contender) as Stand);
    if (ready.stand) starters.push(ready.stand);
    const inOrder = meeting.order.map((at) => starters[at] as Stand);
    const startedAt = performance.now();
    for (const [at, { go }] of inOrder.entries()) {
      while (performance.now() - startedAt < (meeting.offsetsMs[at] ?? 0)) await turn();
      go();
    }
    const passages = await Promise.all(inOrder.map(({ passed }) => passed));
    const [deleted, seen] = await Promise.all([Promise.all(deleting), Promise.all(looking)]);
    return { passages, deleted, seen, awaited: null, awaiting };
  }

  const rowsOf = (jobIds: string[]): Promise<JobRow[]> =>
    db.query(sql<JobRow>`SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ANY(${jobIds})`);

  async function hold(meetings: Meeting[], inProcess: number): Promise<Met[]> {
    worker = inProcess;
    ends = [];
    const all = await prepare(meetings);
    const jobIds = all.map(({ jobId }) => jobId);
    const met: Awaited<ReturnType<typeof meet>>[] = [];
    for (const ready of all) met.push(await meet(ready));

    for (const { doors } of processes)
      doors.open(
        { kind: 'end', state: 'completed' },
        { kind: 'end', state: 'failed' },
        { kind: 'list late' },
        { kind: 'take over' },
      );
    const rows = await eventually(
      () => rowsOf(jobIds),
      (found) =>
        found.every(
          ({ settledAt, dueAt, removeAt, removedAt }) =>
            settledAt !== null && (removedAt === null ? dueAt?.getTime() === removeAt?.getTime() : dueAt === null),
        ),
      BATCH_MS,
    );
    const byId = new Map(rows.map((row) => [row.jobId, row]));
    const settled = books.settled.slice(settledBefore) as UsageRecorded[];
    settledBefore = books.settled.length;
    const seen = await Promise.all(
      all.map(async (ready, at): Promise<Met> => {
        const { jobId, keyId, callId, meeting } = ready;
        const { awaiting, ...given } = met[at] as (typeof met)[number];
        const { jobs } = processOf((worker + 2) % PROCESSES);
        const shown = await jobs.find({ jobId, keyId });
        return {
          ...given,
          meeting,
          worker,
          jobId,
          ends: ends.filter((end) => end.jobId === jobId),
          awaited: awaiting === undefined ? null : await (awaiting as Promise<ShownJob | undefined>),
          row: byId.get(jobId) as JobRow,
          settlements: settled.filter((event) => event.callId === callId),
          released: books.released.filter((each) => each === callId).length,
          counted: counted.get(jobId) ?? 0,
          shown,
          isReadable: shown !== undefined && (await canRead(jobs, shown)),
          objects: await test.objectsOf(jobId),
        };
      }),
    );
    await removeAll(jobIds);
    return seen;
  }

  async function canRead(jobs: CalledJobs, { outputs }: ShownJob): Promise<boolean> {
    for (const output of outputs) {
      const bytes = await read(jobs, output).catch(() => undefined);
      if (bytes?.length !== output.bytes) return false;
    }
    return outputs.length > 0;
  }

  const read = async (jobs: CalledJobs, output: ShownJob['outputs'][number]): Promise<Buffer> =>
    buffer((await jobs.content(output)).content);

  /** Ages all of them by a day. */
  async function removeAll(jobIds: string[]): Promise<void> {
    await db.execute(sql`
      UPDATE job SET expires_at = now(), remove_at = now(), due_at = now()
      WHERE job_id = ANY(${jobIds}) AND removed_at IS NULL`);
    await eventually(
      () =>
        db.query(sql`
        SELECT FROM job WHERE job_id = ANY(${jobIds}) AND (removed_at IS NULL OR due_at IS NOT NULL)`),
      (left) => left.length === 0,
      BATCH_MS,
    );
  }

  return {
    hold,
    async countAttempts() {
      const [sum] = await db.query(sql<{ made: number }>`SELECT sum(attempt)::INT AS made FROM job`);
      return { counted: attempts, made: sum?.made ?? 0 };
    },
    async objectsLeft() {
      const keys: string[] = [];
      for await (const { key } of store.list('jobs/')) keys.push(key);
      return keys;
    },
    async close() {
      for (const { doors } of processes) doors.openAll();
      await test.close();
    },
  };
}

/** The order in which contenders reach their position. */
const TURNS: Contender['kind'][] = ['delete', 'heir', 'takeover', 'deadline', 'expiry', 'poll'];

/** Advances a process before its next look as far as this. */
async function lookUntil(doors: Doors, wanted: Wanted): Promise<Stand> {
  const look = await doors.stop({ kind: 'list late' });
  const stand = doors.stop(wanted);
  look.go();
  return stand;
}
