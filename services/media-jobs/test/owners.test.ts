import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { sql } from '@turnpike/postgres/sql';
import { aReplica, someBackends, type TestReplica } from './aBackend.ts';
import {
  aCall,
  anImageRequest,
  aVideoRequest,
  eventually,
  openTestJobs,
  type TestJobs,
  through,
} from './openTestJobs.ts';

// The money of jobs with several owners, the steps of their end, and a clock that was set back.

type TestProcess = Awaited<ReturnType<TestJobs['open']>>;

let test: TestJobs;
let replica: TestReplica;
let backends: ReturnType<typeof someBackends>;
let opened: TestProcess[];
let tests = 0;
let model = '';

beforeAll(async () => {
  test = await openTestJobs();
});
afterAll(() => test.close());
beforeEach(() => {
  tests += 1;
  model = `model-${tests}`;
  opened = [];
  backends = someBackends(aReplica({ id: `replica-${tests}`, model }));
  replica = backends.of(`replica-${tests}`);
});
afterEach(() => Promise.all(opened.map((jobs) => jobs.close())));

const NO_BACKENDS = { list: () => [], dialectOf: () => ({}) };

async function open(owner: string, options: Partial<Parameters<TestJobs['open']>[0]> = {}): Promise<TestProcess> {
  const owners = { livesMs: 30_000, beatMs: 50 };
  const jobs = await test.open({ backends, owner: `${owner}-${tests}`, owners, ...options });
  opened.push(jobs);
  return jobs;
}

/** Takes the job like another owner that considers this one gone. */
async function takeFrom(jobId: string, heir: string): Promise<void> {
  const name = `${heir}-${tests}`;
  await test.db.execute(sql`INSERT INTO owner (name, lives_until) VALUES (${name}, now() + INTERVAL '50 seconds')`);
  await test.db.execute(sql`UPDATE job SET owner = ${name}, due_at = now() WHERE job_id = ${jobId}`);
}
const settled = (jobId: string) =>
  eventually(
    () => test.read(jobId),
    ({ settledAt }) => settledAt !== null,
  );
const chargesOf = (callId: string) =>
  test.books.settled.filter((event) => event.callId === callId).map(({ chargeNanoUsd }) => chargeNanoUsd);
const beats = () => new Promise((resolve) => setTimeout(resolve, 300));

/** A database whose inserts of jobs are done as the test says. */
const withInsert = (insert: Run): TestJobs['db'] =>
  through(test.db, (run, sent) => (sent?.text.includes('INSERT INTO job (') ? insert(run) : run()));
type Run = <Result>(run: () => Promise<Result>) => Promise<Result>;

describe('an owner', () => {
  it('that was away holds nothing for a job that another owner has ended', async () => {
    const away = await open('away', { backends: NO_BACKENDS });
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await away.make(call);
    await takeFrom(id, 'heir');
    await beats();
    expect(test.books.isHeld(`away-${tests}`, call.hold.callId)).toBe(true);
    await open('heir');
    await settled(id);
    await eventually(
      () => test.books.isHeld(`away-${tests}`, call.hold.callId),
      (isHeld) => !isHeld,
    );
    expect(test.books.settledAgain).toEqual([
      {
        owner: `away-${tests}`,
        event: expect.objectContaining({ callId: call.hold.callId, chargeNanoUsd: 1_000_000n }),
      },
    ]);
    expect(chargesOf(call.hold.callId)).toEqual([1_000_000n]);
    expect(test.books.released).not.toContain(call.hold.callId);
  });

  it('releases the hold of a job that its database has lost', async () => {
    const jobs = await open('owner', { backends: NO_BACKENDS });
    const [lost, kept] = [aCall({ request: anImageRequest({ model }) }), aCall({ request: anImageRequest({ model }) })];
    const { id } = await jobs.make(lost);
    await jobs.make(kept);
    await test.db.execute(sql`DELETE FROM job WHERE job_id = ${id}`);
    await eventually(
      () => test.books.released,
      (released) => released.includes(lost.hold.callId),
    );
    expect(test.books.released).not.toContain(kept.hold.callId);
  });

  it('holds nothing for a job that another owner has ended before the insert was answered here', async () => {
    const committed = Promise.withResolvers<string>();
    const answered = Promise.withResolvers<void>();
    const db = withInsert(async (run) => {
      const [row] = (await run()) as { jobId: string }[];
      committed.resolve(row?.jobId ?? '');
      await answered.promise;
      throw new Error('no answer');
    });
    const away = await open('away', {
      db,
      backends: NO_BACKENDS,
      owners: { livesMs: 30_000, beatMs: 50, inDoubtMs: 0 },
    });
    const call = aCall({ request: anImageRequest({ model }) });
    const making = away.make(call);
    const id = await committed.promise;
    await takeFrom(id, 'heir');
    await open('heir');
    await settled(id);
    expect(test.books.isHeld(`away-${tests}`, call.hold.callId)).toBe(true);
    answered.resolve();
    await expect(making).rejects.toThrow('no answer');
    await eventually(
      () => test.books.isHeld(`away-${tests}`, call.hold.callId),
      (isHeld) => !isHeld,
    );
    expect(test.books.released).not.toContain(call.hold.callId);
  });

  it('holds nothing for a creation any more once the database has not said for a while whether its row is there', async () => {
    let answers = true;
    // Pools give a statement up after a while.
    const giveUp = async (): Promise<never> => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      throw new Error('Query read timeout');
    };
    const db = through(test.db, (run) => (answers ? run() : giveUp()));
    const jobs = await open('hung', { db, lookUpDb: test.db, undoMs: 1_000, backends: NO_BACKENDS });
    const call = aCall({ request: anImageRequest({ model }) });
    const { hold, digest } = call;
    const claimed = await jobs.obtain({ keyId: hold.keyId, digest, repeat: 0 }, new AbortController().signal);
    if ('job' in claimed) throw new Error('there is a job already');
    answers = false;
    await expect(jobs.make({ ...call, claim: claimed.claim })).rejects.toThrow('Query read timeout');
    expect(test.books.released).not.toContain(hold.callId);
    await eventually(
      () => test.books.released,
      (released) => released.includes(hold.callId),
    );
    expect(await test.db.query(sql`SELECT FROM job WHERE call_id = ${hold.callId}::UUID`)).toEqual([]);
    answers = true;
    await eventually(
      () => jobs.obtain({ keyId: hold.keyId, digest, repeat: 1 }, new AbortController().signal),
      (obtained) => 'claim' in obtained,
    );
  });

  it('keeps the hold of a job whose row is not there yet', async () => {
    const storing = Promise.withResolvers<void>();
    const store: ObjectStore = {
      ...test.store,
      async put(...given) {
        await storing.promise;
        return test.store.put(...given);
      },
    };
    const jobs = await open('owner', { store });
    const call = aCall({ request: anImageRequest({ model }) });
    const making = jobs.make(call);
    await beats();
    storing.resolve();
    await settled((await making).id);
    expect(test.books.released).not.toContain(call.hold.callId);
    expect(chargesOf(call.hold.callId)).toEqual([1_000_000n]);
  });
});

describe('the end of a job', () => {
  it('is removed in time also where its event cannot be read, which is not settled then', async () => {
    const jobs = await open('owner', { backends: NO_BACKENDS });
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    test.books.isTaking = false;
    await jobs.remove({ jobId: id, keyId: call.hold.keyId });
    expect(await test.objectsOf(id)).not.toEqual([]);
    const untilRemoved = async () => {
      await test.db.execute(sql`
        UPDATE job SET event = event || '{"version": 99}', remove_at = now(), removed_at = NULL, due_at = now(),
          version = version + 1
        WHERE job_id = ${id}`);
      await eventually(
        () => test.read(id),
        ({ removedAt }) => removedAt !== null,
      );
    };
    // After the first removal no process has the row with the event as it was.
    await untilRemoved();
    expect(await test.objectsOf(id)).toEqual([]);
    test.books.isTaking = true;
    await untilRemoved();
    expect(await test.read(id)).toMatchObject({ settledAt: null });
    expect(chargesOf(call.hold.callId)).toEqual([]);
  });
});

describe('a database whose clock was set back by an hour', () => {
  it('has the jobs of a worker that is gone taken up, and the money of an owner that is gone', async () => {
    const gone = await open('gone');
    const call = aCall({ request: aVideoRequest({ model }) });
    const { id } = await gone.make(call);
    await eventually(
      () => test.read(id),
      ({ backendId }) => backendId !== null,
    );
    await gone.close();
    // Both jobs are due an hour from now.
    await test.db.execute(sql`UPDATE job SET due_at = now() + INTERVAL '1 hour' WHERE job_id = ${id}`);
    await test.db.execute(
      sql`UPDATE owner SET lives_until = now() + INTERVAL '1 hour' WHERE name = ${`gone-${tests}`}`,
    );
    replica.completeAll();
    await open('heir');
    expect(await settled(id)).toMatchObject({ state: 'completed', owner: `heir-${tests}` });
  });
});

it('leaves a clip where it is that a process with another file has begun under another name of the replica', async () => {
  const jobs = await open('owner');
  const { id } = await jobs.make(aCall({ request: aVideoRequest({ model }) }));
  await eventually(
    () => test.read(id),
    ({ backendId }) => backendId !== null,
  );
  const named = aReplica({ id: `renamed-${tests}`, model: `${model}-elsewhere` });
  const other = { list: () => [{ replica: named, isUp: true }], dialectOf: () => backends.dialectOf(replica.replica) };
  replica.clips.set('stray', { id: 'stray', status: 'in_progress', progress: 0, prompt: 'stray' });
  await open('other', { backends: other, reaper: { roundMs: 50, unnamedMs: 300 } });
  await eventually(
    () => replica.deleted,
    (deleted) => deleted.length > 0,
  );
  await beats();
  expect(replica.deleted).toEqual(['stray']);
});
