import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { unavailable } from '@turnpike/object-store/objectStoreError';
import { isUnreachable } from '@turnpike/postgres/databaseFailure';
import { sql } from '@turnpike/postgres/sql';
import { type Claim, readCreations } from '../src/jobs/table/creations.ts';
import { findJob } from '../src/jobs/table/findJobs.ts';
import { TURN_LOCK } from '../src/jobs/table/takeQueued.ts';
import { MediaFault } from '../src/media/mediaFault.ts';
import type { Transcript } from '../src/terms/transcript.ts';
import { aFault, aReplica, someBackends, type TestReplica } from './aBackend.ts';
import {
  aCall,
  anImageRequest,
  aTranscriptRequest,
  aVideoRequest,
  type CalledJobs,
  eventually,
  openTestJobs,
  type TestJobs,
  through,
} from './openTestJobs.ts';
import { transitionOf } from './transitionOf.ts';

let test: TestJobs;
let jobs: CalledJobs;
let replica: TestReplica;
let models = 0;
let model = '';

beforeAll(async () => {
  test = await openTestJobs();
});
afterAll(() => test.close());

/** A model and a replica of each test's own, so that jobs of another one are nobody's here. */
beforeEach(async () => {
  models += 1;
  model = `model-${models}`;
  const backends = someBackends(aReplica({ id: `replica-${models}`, model }));
  replica = backends.of(`replica-${models}`);
  jobs = await test.open({ backends });
});
afterEach(() => jobs.close());

const settledOf = (callId: string) => test.books.settled.filter((event) => event.callId === callId);
const ended = (jobId: string, state: string) =>
  eventually(
    () => test.read(jobId),
    (row) => row.state === state && row.settledAt !== null,
  );
const addressOf = ({ id }: { id: string }, call: ReturnType<typeof aCall>) => ({ jobId: id, keyId: call.hold.keyId });

describe('a job of images', () => {
  it('is rendered one by one, stored, charged for what was made, and shown', async () => {
    const call = aCall({ request: anImageRequest({ model, n: 3 }) });
    const made = await jobs.make(call);
    expect(made).toMatchObject({ status: 'queued', usage: null, outputs: [], prompt: null });
    await ended(made.id, 'completed');
    expect(settledOf(call.hold.callId)).toEqual([
      expect.objectContaining({ status: 'success', chargeNanoUsd: 1_000_000n }),
    ]);
    const shown = await jobs.find(addressOf(made, call));
    expect(shown).toMatchObject({ status: 'completed', progress: 100, usage: { units: 3, billingUnit: 'image' } });
    expect(shown?.outputs).toHaveLength(3);
    const [first] = shown?.outputs ?? [];
    if (!first) throw new Error('nothing was made');
    expect(await text((await jobs.content(first)).content)).toBe('an image');
  });

  it('is nobody else’s', async () => {
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    expect(await jobs.find({ jobId: id, keyId: 'key_other' })).toBeUndefined();
    expect(await jobs.remove({ jobId: id, keyId: 'key_other' })).toBe(false);
  });

  it.each([
    ['turned away', aFault('busy', { retryAfterMs: 10 }), 3],
    ['unreachable', aFault('unreachable'), 2],
  ])('goes on waiting where it is %s, and that is no attempt', async (_how, fault, times) => {
    let left = times;
    const render = replica.onImage;
    replica.onImage = async (...given) => {
      left -= 1;
      if (left >= 0) throw fault;
      return render(...given);
    };
    const { id } = await jobs.make(aCall({ request: anImageRequest({ model }) }));
    expect(await ended(id, 'completed')).toMatchObject({ attempt: times + 1, attemptsCounted: 1 });
  });

  it.each([
    ['failed', 'generation_failed', 2],
    ['answer_lost', 'backend_lost', 2],
    ['cut_off', 'backend_lost', 2],
    ['refused_request', 'generation_failed', 1],
    ['content_refused', 'content_refused', 1],
  ] as const)('fails at no charge where its replica says %s', async (kind, code, attempts) => {
    replica.onImage = async () => {
      throw aFault(kind);
    };
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    expect(await ended(id, 'failed')).toMatchObject({ errorCode: code, attempt: attempts, chargeNanoUsd: 0n });
    expect(settledOf(call.hold.callId)).toEqual([expect.objectContaining({ status: 'failure', chargeNanoUsd: 0n })]);
  });

  it.each(['cut_off', 'busy', 'unreachable', 'failed', 'answer_lost'] as const)(
    'is asked for each of its images twice at most, whatever its replica says half-way: %s',
    async (kind) => {
      const render = replica.onImage;
      replica.onImage = (...given) => {
        if (replica.begun.length % 3 === 0) throw aFault(kind);
        return render(...given);
      };
      const call = aCall({ request: anImageRequest({ model, n: 3 }) });
      const { id } = await jobs.make(call);
      expect(await ended(id, 'failed')).toMatchObject({ attempt: 2, attemptsCounted: 2, chargeNanoUsd: 0n });
      expect(replica.begun).toHaveLength(6);
    },
  );

  it('has its second attempt after one that was cut off half-way, and what was turned away between them is none', async () => {
    const faults = [undefined, aFault('cut_off'), aFault('busy', { retryAfterMs: 10 }), aFault('unreachable')];
    const render = replica.onImage;
    replica.onImage = (...given) => {
      const fault = faults.shift();
      if (fault) throw fault;
      return render(...given);
    };
    const { id } = await jobs.make(aCall({ request: anImageRequest({ model, n: 2 }) }));
    expect(await ended(id, 'completed')).toMatchObject({ attempt: 4, attemptsCounted: 2 });
  });

  it('fails where what came is no image', async () => {
    replica.onImage = async () => {
      throw new MediaFault('invalid_output');
    };
    const { id } = await jobs.make(aCall({ request: anImageRequest({ model }) }));
    expect(await ended(id, 'failed')).toMatchObject({ errorCode: 'invalid_output' });
  });

  it('has another attempt where its worker dies, and what comes late of the first changes nothing', async () => {
    const renders: PromiseWithResolvers<Readable>[] = [];
    replica.onImage = () => {
      const render = Promise.withResolvers<Readable>();
      renders.push(render);
      return render.promise;
    };
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await eventually(
      () => renders.length,
      (count) => count === 1,
    );
    // The worker is frozen: its lease passes, and another process takes the job.
    await test.db.execute(
      sql`UPDATE job SET due_at = now() - INTERVAL '1 second', version = version + 1 WHERE job_id = ${id}`,
    );
    await eventually(
      () => renders.length,
      (count) => count === 2,
    );
    renders[0]?.resolve(Readable.from([Buffer.from('too late')]));
    await delay(200);
    renders[1]?.resolve(Readable.from([Buffer.from('in time')]));
    await ended(id, 'completed');
    const shown = await jobs.find(addressOf({ id }, call));
    const [output] = shown?.outputs ?? [];
    if (!output) throw new Error('nothing was made');
    expect(await text((await jobs.content(output)).content)).toBe('in time');
    expect(settledOf(call.hold.callId)).toHaveLength(1);
  });

  it('is rendered once though the object store takes nothing for a while', async () => {
    await jobs.close();
    let refused = 0;
    const put: ObjectStore['put'] = async (key, source, options) => {
      if (!key.endsWith('.png') || refused === 3) return test.store.put(key, source, options);
      refused += 1;
      source.destroy();
      throw unavailable('failing');
    };
    const backends = someBackends(replica.replica);
    jobs = await test.open({ backends, store: { ...test.store, put } });
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await ended(id, 'completed');
    expect(backends.of(replica.replica.id).begun).toHaveLength(1);
    const [output] = (await jobs.find(addressOf({ id }, call)))?.outputs ?? [];
    if (!output) throw new Error('nothing was made');
    expect(await text((await jobs.content(output)).content)).toBe('an image');
  });
});

describe('a transcript', () => {
  const TIMES = [{ start: 0, end: 1 }];
  const segments = TIMES.map((times) => ({ ...times, text: 'said' }));
  const words = TIMES.map((times) => ({ ...times, word: 'said' }));

  it.each([
    ['srt', {}, { words }],
    ['vtt', {}, { words }],
    ['verbose_json', {}, { words }],
    ['verbose_json', { granularities: ['word'] }, { segments }],
    ['verbose_json', { granularities: ['segment', 'word'] }, { segments }],
  ] as const)(
    'has failed at no charge, once asked for, where its engine gave not the times of %s %j',
    async (responseFormat, fields, given) => {
      let asked = 0;
      replica.onTranscript = async () => {
        asked += 1;
        return { text: 'said', language: 'en', segments: null, words: null, ...structuredClone(given) } as Transcript;
      };
      const request = aTranscriptRequest({ model, responseFormat, ...(structuredClone(fields) as object) });
      const call = aCall({ request });
      const { id } = await jobs.make(call);
      expect(await ended(id, 'failed')).toMatchObject({ errorCode: 'invalid_output', chargeNanoUsd: 0n, outputs: [] });
      expect(settledOf(call.hold.callId)).toEqual([expect.objectContaining({ status: 'failure', chargeNanoUsd: 0n })]);
      expect(asked).toBe(1);
    },
  );

  it.each([
    ['json', null],
    ['text', null],
    ['srt', segments],
    ['verbose_json', []],
  ] as const)('is stored and charged where it has what %s needs', async (responseFormat, given) => {
    const said = { text: 'said', language: 'en', segments: given && structuredClone([...given]), words: null };
    replica.onTranscript = async () => said;
    const call = aCall({ request: aTranscriptRequest({ model, responseFormat }) });
    const { id } = await jobs.make(call);
    expect(await ended(id, 'completed')).toMatchObject({ chargeNanoUsd: 1_000_000n });
    const [output] = (await jobs.find(addressOf({ id }, call)))?.outputs ?? [];
    if (!output) throw new Error('nothing was made');
    expect(output).toMatchObject({ type: 'application/json', seconds: 1 });
    expect(JSON.parse(await text((await jobs.content(output)).content))).toEqual(said);
  });

  it('waits for an object store that does not give its recording, and has not used an attempt on that', async () => {
    await jobs.close();
    let isDown = true;
    let refused = 0;
    const get: ObjectStore['get'] = async (key, range) => {
      if (!isDown || !key.endsWith('.recording')) return test.store.get(key, range);
      refused += 1;
      throw unavailable('broken_off');
    };
    jobs = await test.open({ backends: someBackends(replica.replica), store: { ...test.store, get } });
    const { id } = await jobs.make(aCall({ request: aTranscriptRequest({ model }) }));
    await eventually(
      () => refused,
      (count) => count >= 3,
    );
    expect((await test.read(id)).endedAt).toBeNull();
    isDown = false;
    expect(await ended(id, 'completed')).toMatchObject({ attemptsCounted: 1 });
  });
});

describe('a clip', () => {
  const begin = async (fields = {}) => {
    const call = aCall({ request: aVideoRequest({ model }), ...fields });
    const { id } = await jobs.make(call);
    return { id, call };
  };

  it('is begun, looked after, stored, charged by its whole seconds, and removed at its backend', async () => {
    const { id, call } = await begin();
    await eventually(
      () => replica.clips.size,
      (size) => size === 1,
    );
    expect(await jobs.find(addressOf({ id }, call))).toMatchObject({ prompt: expect.stringContaining('a prompt') });
    replica.completeAll();
    expect(await ended(id, 'completed')).toMatchObject({ units: 4, backendId: 'clip-1' });
    await eventually(
      () => replica.deleted,
      (deleted) => deleted.includes('clip-1'),
    );
    expect(settledOf(call.hold.callId)).toHaveLength(1);
  });

  it('whose answer was lost is begun once more and no more than that', async () => {
    replica.afterClip = () => {
      throw aFault('answer_lost');
    };
    const { id } = await begin();
    expect(await ended(id, 'failed')).toMatchObject({ errorCode: 'backend_lost' });
    expect(replica.begun).toHaveLength(2);
  });

  it('whose answer was lost is not taken for a clip of the same prompt that another workspace has begun', async () => {
    replica.replica.slots = 2;
    const [request, orders] = [aVideoRequest({ model }), ['slow', 'lost']];
    const later = Promise.withResolvers<void>();
    replica.afterClip = () => {
      const order = orders.shift();
      if (order === 'lost') {
        replica.clips.delete('clip-2');
        throw aFault('answer_lost');
      }
      return order === 'slow' ? later.promise : undefined;
    };
    const [one, other] = [await jobs.make(aCall({ request })), await jobs.make(aCall({ request }))];
    await eventually(
      () => replica.begun.length,
      (begun) => begun === 3,
    );
    later.resolve();
    for (const { id } of [one, other])
      await eventually(
        () => test.read(id),
        ({ state }) => state === 'running',
      );
    replica.completeAll();
    const ids = [(await ended(one.id, 'completed')).backendId, (await ended(other.id, 'completed')).backendId];
    expect(ids.toSorted()).toEqual(['clip-1', 'clip-3']);
    expect(replica.begun).toHaveLength(3);
  });

  it('has no clip that another job has', async () => {
    const first = await begin();
    await eventually(
      () => test.read(first.id),
      ({ backendId }) => backendId === 'clip-1',
    );
    // The replica has one slot, so whichever has its turn first would keep it.
    const second = await begin();
    await expect(
      test.db.execute(sql`UPDATE job SET replica = (SELECT replica FROM job WHERE job_id = ${first.id}), backend_id = 'clip-1'
        WHERE job_id = ${second.id}`),
    ).rejects.toThrow('nique');
  });

  it('that a backend has forgotten is begun again', async () => {
    const { id } = await begin();
    await eventually(
      () => test.read(id),
      ({ backendId }) => backendId === 'clip-1',
    );
    replica.clips.clear();
    await eventually(
      () => replica.clips.size,
      (size) => size === 1,
    );
    replica.completeAll();
    await ended(id, 'completed');
    expect(replica.begun).toHaveLength(2);
  });

  it('fails as its backend says, within a look', async () => {
    const { id } = await begin();
    await eventually(
      () => replica.clips.size,
      (size) => size === 1,
    );
    for (const clip of replica.clips.values()) Object.assign(clip, { status: 'failed', failure: 'content_refused' });
    expect(await ended(id, 'failed')).toMatchObject({ errorCode: 'content_refused' });
  });

  it('ends at its deadline, and its backend is told', async () => {
    const { id } = await begin();
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'running',
    );
    await test.db.execute(sql`UPDATE job SET deadline_at = now() WHERE job_id = ${id}`);
    expect(await ended(id, 'failed')).toMatchObject({ errorCode: 'timed_out' });
    await eventually(
      () => replica.deleted,
      (deleted) => deleted.includes('clip-1'),
    );
  });

  it('waits in its place for an object store that is down, and is charged once it is stored', async () => {
    const { id } = await begin();
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'running',
    );
    let isDown = true;
    replica.onContent = async () => {
      if (isDown) throw aFault('unreachable');
      return Readable.from([Buffer.from('a clip')]);
    };
    replica.completeAll();
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'storing',
    );
    isDown = false;
    await ended(id, 'completed');
  });

  it('is polled although renders hang, as many as a process begins of a model, and jobs of other models begin', async () => {
    await jobs.close();
    const images = aReplica({ id: `images-${model}`, model: `images-${model}`, slots: 64 });
    const backends = someBackends(replica.replica, images);
    const hung = backends.of(images.id);
    hung.onImage = (_prompt, signal) => once(signal, 'abort').then(() => Promise.reject(signal.reason));
    jobs = await test.open({ backends, activePerKey: images.slots });
    const clip = await jobs.make(aCall({ request: aVideoRequest({ model }) }));
    await eventually(
      () => test.read(clip.id),
      ({ state }) => state === 'running',
    );
    const request = anImageRequest({ model: images.model });
    await Promise.all(Array.from({ length: images.slots }, () => jobs.make(aCall({ request }))));
    await eventually(
      () => hung.begun.length,
      (begun) => begun === images.slots,
    );
    backends.of(replica.replica.id).completeAll();
    await ended(clip.id, 'completed');
    const { id } = await jobs.make(aCall({ request: anImageRequest({ model }) }));
    await ended(id, 'completed');
  });
});

describe('the end of a job', () => {
  it('is one, whoever comes first: its client, its worker or its deadline', async () => {
    const made = Array.from({ length: 24 }, (_, index) => ({
      index,
      call: aCall({ request: anImageRequest({ model }) }),
    }));
    const ids = await Promise.all(
      made.map(async ({ call, index }) => ({ index, call, id: (await jobs.make(call)).id })),
    );
    await Promise.all(
      ids.map(async ({ id, index, call }) => {
        await delay(index * 7);
        if (index % 3 === 0) await jobs.remove({ jobId: id, keyId: call.hold.keyId });
        if (index % 3 === 1)
          await test.db.execute(sql`UPDATE job SET deadline_at = now() WHERE job_id = ${id} AND ended_at IS NULL`);
      }),
    );
    for (const { id, call } of ids) {
      const row = await eventually(
        () => test.read(id),
        ({ settledAt }) => settledAt !== null,
      );
      const [settled, ...again] = settledOf(call.hold.callId);
      expect(settled?.chargeNanoUsd).toBe(row.chargeNanoUsd);
      // A DELETE of a job that is being settled has it settled again by the same call id, which counts once.
      for (const event of again) expect(event).toEqual(settled);
      expect(row.chargeNanoUsd).toBe(row.state === 'completed' ? 1_000_000n : 0n);
    }
  });

  it('is settled later where that cannot be now, once', async () => {
    test.books.isTaking = false;
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'completed',
    );
    expect((await test.read(id)).settledAt).toBeNull();
    test.books.isTaking = true;
    await ended(id, 'completed');
    expect(settledOf(call.hold.callId)).toHaveLength(1);
  });

  it('by its client counts the time of the engine, and that of a queued job not', async () => {
    const runs: { keyId: string; ranMs: number }[] = [];
    const own = someBackends(aReplica({ id: `counted-${models}`, model: `counted-${models}` }));
    const counting = await test.open({ backends: own, onRunCancelled: (run) => runs.push(run) });
    const [running, queued] = [
      aCall({ request: aVideoRequest({ model: `counted-${models}` }) }),
      aCall({ request: aVideoRequest({ model: 'none' }) }),
    ];
    const [{ id }, { id: waiting }] = [await counting.make(running), await counting.make(queued)];
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'running',
    );
    await test.db.execute(sql`UPDATE job SET sent_at = sent_at - INTERVAL '60 s' WHERE job_id = ${id}`);
    await counting.remove({ jobId: waiting, keyId: queued.hold.keyId });
    await counting.remove({ jobId: id, keyId: running.hold.keyId });
    expect(runs).toEqual([{ keyId: running.hold.keyId, ranMs: expect.any(Number) }]);
    expect(runs[0]?.ranMs).toBeGreaterThanOrEqual(60_000);
    await counting.close();
  });

  it('leaves nothing to be seen of what its client has cancelled', async () => {
    replica.onImage = (_prompt, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await eventually(
      () => test.read(id),
      ({ state }) => state === 'running',
    );
    expect(await jobs.remove({ jobId: id, keyId: call.hold.keyId })).toBe(true);
    expect(await jobs.find({ jobId: id, keyId: call.hold.keyId })).toBeUndefined();
    expect(await jobs.remove({ jobId: id, keyId: call.hold.keyId })).toBe(false);
    expect(await ended(id, 'cancelled')).toMatchObject({ chargeNanoUsd: 0n });
  });
});

describe('turns', () => {
  it('go round the workspaces, whatever one of them has queued', async () => {
    replica.isUp = false;
    const many = Array.from({ length: 20 }, (_, index) =>
      aCall({
        request: anImageRequest({ model, prompt: `many ${index}` }),
        workspaceId: `ws_many_${model}`,
        keyId: `key_many_${model}`,
      }),
    );
    for (const call of many) await jobs.make(call);
    const few = aCall({ request: anImageRequest({ model, prompt: 'few' }) });
    const made = await jobs.make(few);
    expect(made.queuePosition).toBe(1);
    replica.isUp = true;
    await ended(made.id, 'completed');
    expect(replica.begun.indexOf('few')).toBeLessThan(2);
  });

  it('go round the keys of a workspace, whatever one of them has queued', async () => {
    replica.isUp = false;
    const workspaceId = `ws_${model}`;
    const make = (prompt: string, keyId: string) =>
      jobs.make(aCall({ request: anImageRequest({ model, prompt }), workspaceId, keyId: `${keyId}_${model}` }));
    for (let index = 0; index < 20; index += 1) await make(`many ${index}`, 'key_many');
    const made = await make('few', 'key_few');
    replica.isUp = true;
    await ended(made.id, 'completed');
    expect(replica.begun.indexOf('few')).toBeLessThan(2);
  });

  it('are not had by a key that has as many jobs under way as it may', async () => {
    await jobs.close();
    const backends = someBackends(aReplica({ id: replica.replica.id, model, slots: 4 }));
    jobs = await test.open({ backends, activePerKey: 2 });
    const hanging = backends.of(replica.replica.id);
    hanging.onImage = (_prompt, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    for (let index = 0; index < 4; index += 1)
      await jobs.make(aCall({ request: anImageRequest({ model }), keyId: `key_${model}`, workspaceId: `ws_${model}` }));
    await eventually(
      () => hanging.begun.length,
      (count) => count === 2,
    );
    await delay(600);
    expect(hanging.begun).toHaveLength(2);
  });

  it('are never more than a replica has slots, however many processes look', async () => {
    await jobs.close();
    const backends = someBackends(aReplica({ id: replica.replica.id, model, slots: 2 }));
    const state = backends.of(replica.replica.id);
    let now = 0;
    let most = 0;
    state.onImage = async () => {
      now += 1;
      most = Math.max(most, now);
      await delay(200);
      now -= 1;
      return Readable.from([Buffer.from('an image')]);
    };
    await jobs.close();
    const processes = await Promise.all([1, 2, 3].map(() => test.open({ backends })));
    jobs = processes[0] as CalledJobs;
    const made = await Promise.all(
      Array.from({ length: 12 }, () => jobs.make(aCall({ request: anImageRequest({ model }) }))),
    );
    for (const { id } of made) await ended(id, 'completed');
    expect(most).toBe(2);
    expect(state.begun).toHaveLength(12);
    await Promise.all(processes.slice(1).map((each) => each.close()));
  });
});

describe('owners', () => {
  it('have their jobs taken over once they are gone, with what is held', async () => {
    replica.isUp = false;
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await jobs.close();
    const backends = someBackends(aReplica({ id: replica.replica.id, model }));
    jobs = await test.open({ backends, owner: `heir-${model}` });
    expect(await ended(id, 'completed')).toMatchObject({ owner: `heir-${model}` });
    expect(test.books.putBack).toContainEqual({ owner: `heir-${model}`, callId: call.hold.callId });
    expect(settledOf(call.hold.callId)).toHaveLength(1);
  });

  it('that come back put back what they hold, and nobody takes it from one that lives', async () => {
    replica.isUp = false;
    const backends = someBackends(replica.replica);
    const first = await test.open({ backends: { ...backends, list: () => [] }, owner: `first-${model}` });
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await first.make(call);
    // The process crashed, so no process has removed its owner.
    const again = await test.open({ backends, owner: `first-${model}` });
    expect(test.books.putBack).toContainEqual({ owner: `first-${model}`, callId: call.hold.callId });
    expect(await ended(id, 'completed')).toMatchObject({ owner: `first-${model}` });
    // Left open, either would go on with the jobs of the tests below.
    await Promise.all([first.close(), again.close()]);
  });
});

describe('removal', () => {
  /** Until nobody has a job in hand that has ended: what is written then is of before its times are moved. */
  const left = (id: string) =>
    eventually(
      () => test.read(id),
      ({ dueAt, removeAt }) => removeAt !== null && dueAt?.getTime() === removeAt.getTime(),
    );

  it('takes a job from its client after 24 hours, and its bytes by then', async () => {
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await ended(id, 'completed');
    expect(await test.objectsOf(id)).toHaveLength(2);
    await left(id);
    await test.age(id, 24 * 3_600_000);
    expect(await jobs.find({ jobId: id, keyId: call.hold.keyId })).toBeUndefined();
    const row = await eventually(
      () => test.read(id),
      ({ removedAt, dueAt }) => removedAt !== null && dueAt === null,
    );
    expect(await test.objectsOf(id)).toEqual([]);
    expect(row).toMatchObject({ sealedTexts: null });
    expect(row.outputs).toEqual([expect.objectContaining({ bytes: 8, sha256: expect.any(String) })]);
    expect(row.outputs[0]).not.toHaveProperty('key');
  });

  it('leaves a clip and its prompt where they are for 24 hours, and has both gone before 48', async () => {
    const call = aCall({ request: aVideoRequest({ model }) });
    const { id } = await jobs.make(call);
    await eventually(
      () => replica.clips.size,
      (size) => size === 1,
    );
    replica.completeAll();
    await ended(id, 'completed');
    await left(id);
    await test.age(id, 24 * 3_600_000);
    await delay(700);
    expect(await test.objectsOf(id)).toHaveLength(2);
    await test.age(id, 6 * 60_000);
    await eventually(
      () => test.read(id),
      ({ removedAt }) => removedAt !== null,
    );
    expect(await test.objectsOf(id)).toEqual([]);
    expect(await jobs.listOverdue()).toEqual([]);
  });

  it('of a job that its client deletes is at once', async () => {
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await ended(id, 'completed');
    expect(await jobs.remove({ jobId: id, keyId: call.hold.keyId })).toBe(true);
    await eventually(
      () => test.read(id),
      ({ removedAt }) => removedAt !== null,
    );
    expect(await test.objectsOf(id)).toEqual([]);
    expect(settledOf(call.hold.callId)).toEqual([expect.objectContaining({ chargeNanoUsd: 1_000_000n })]);
  });

  it('hides a job that its client deletes from looks, too, that began before', async () => {
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await ended(id, 'completed');
    const address = { jobId: id, keyId: call.hold.keyId };
    await test.db.transaction(async (look) => {
      expect(await findJob(look, address)).toMatchObject({ jobId: id });
      expect(await jobs.remove(address)).toBe(true);
      expect(await findJob(look, address)).toBeUndefined();
    });
  });

  it('that fails is tried again after a minute, not at once', async () => {
    await jobs.close();
    const tried: string[] = [];
    const store: ObjectStore = {
      ...test.store,
      async delete(key) {
        tried.push(key);
        throw unavailable('failing');
      },
    };
    jobs = await test.open({ backends: someBackends(replica.replica), store });
    const call = aCall({ request: anImageRequest({ model }) });
    const { id } = await jobs.make(call);
    await ended(id, 'completed');
    await jobs.remove({ jobId: id, keyId: call.hold.keyId });
    await eventually(
      () => test.read(id),
      ({ dueAt, removeAt }) => (dueAt?.getTime() ?? 0) - (removeAt?.getTime() ?? 0) >= 60_000,
    );
    // Objects of other tests may be removed meanwhile.
    expect(tried.filter((key) => key.includes(id))).toHaveLength(1);
    expect((await test.read(id)).removedAt).toBeNull();
  });

  it('of what a backend has and no row names comes after a while', async () => {
    await jobs.close();
    const backends = someBackends(replica.replica);
    const state = backends.of(replica.replica.id);
    jobs = await test.open({ backends });
    const { id } = await jobs.make(aCall({ request: aVideoRequest({ model }) }));
    await eventually(
      () => test.read(id),
      ({ backendId }) => backendId !== null,
    );
    // Only now does anybody look who has so little patience: a busy database may take longer to name a clip.
    await jobs.close();
    state.clips.set('stray', { id: 'stray', status: 'in_progress', progress: 0, prompt: 'stray' });
    jobs = await test.open({ backends, reaper: { roundMs: 50, unnamedMs: 300 } });
    await eventually(
      () => state.deleted,
      (deleted) => deleted.length > 0,
    );
    expect(state.deleted).toEqual(['stray']);
  });

  it('of what no row names goes on where a backend does not remove one of it', async () => {
    await jobs.close();
    const backends = someBackends(replica.replica);
    const state = backends.of(replica.replica.id);
    for (const id of ['kept', 'stray']) state.clips.set(id, { id, status: 'in_progress', progress: 0, prompt: id });
    let asked = 0;
    const dialectOf: typeof backends.dialectOf = (of) => {
      const dialect = backends.dialectOf(of);
      return {
        ...dialect,
        async deleteVideo(...args) {
          if (args[1] !== 'kept') return dialect.deleteVideo?.(...args);
          asked += 1;
          throw aFault('failed');
        },
      };
    };
    jobs = await test.open({ backends: { ...backends, dialectOf }, reaper: { roundMs: 50, unnamedMs: 300 } });
    await eventually(
      () => state.deleted,
      (deleted) => deleted.includes('stray'),
    );
    // Asked for again a round later.
    await eventually(
      () => asked,
      (times) => times >= 2,
    );
  });
});

it('settles a job within seconds of a connection that broke as it was settled', async () => {
  await jobs.close();
  const broken: unknown[] = [];
  const db = through(test.db, async (run, sent) => {
    if (broken.length === 0 && transitionOf(sent?.text ?? '') === 'settle') {
      broken.push(sent);
      throw new Error('Connection terminated unexpectedly');
    }
    return run();
  });
  jobs = await test.open({ db, backends: someBackends(replica.replica) });
  const { id } = await jobs.make(aCall({ request: anImageRequest({ model }) }));
  await ended(id, 'completed');
  await eventually(
    () => test.read(id),
    ({ settledAt }) => settledAt !== null,
  );
  expect(broken).toHaveLength(1);
});

it('begins jobs again soon after a process has stopped in the middle of a turn, and fails only that turn', async () => {
  const stopped = await test.connect();
  const [hasLock, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const turn = stopped.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${TURN_LOCK}::BIGINT)`);
    hasLock.resolve();
    await goesOn.promise;
    await tx.execute(sql`SELECT 1`);
  });
  await hasLock.promise;
  const { id } = await jobs.make(aCall({ request: anImageRequest({ model }) }));
  await ended(id, 'completed');
  goesOn.resolve();
  expect(await turn.catch(isUnreachable)).toBe(true);
  expect(await stopped.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});

it('waits for changes', async () => {
  replica.isUp = false;
  const call = aCall({ request: anImageRequest({ model }) });
  const made = await jobs.make(call);
  const address = addressOf(made, call);
  const waiting = jobs.untilEnded(address, new AbortController().signal);
  const soon = await jobs.untilChanged(address, 'queued', AbortSignal.timeout(300));
  expect(soon).toMatchObject({ status: 'queued' });
  replica.isUp = true;
  expect(await waiting).toMatchObject({ status: 'completed' });
});

describe('a call that is sent again', () => {
  const never = new AbortController().signal;
  const keyOf = ({ hold, digest }: ReturnType<typeof aCall>, repeat: number) => ({ keyId: hold.keyId, digest, repeat });
  const claimOf = async (call: ReturnType<typeof aCall>, repeat = 0, through = jobs) => {
    const obtained = await through.obtain(keyOf(call, repeat), never);
    if ('job' in obtained) throw new Error('there is a job already');
    return obtained.claim;
  };
  const aHeldCall = () => aCall({ request: anImageRequest({ model }) });

  it('waits for the job that another process makes of the call before, and gets it', async () => {
    const call = aHeldCall();
    const claim = await claimOf(call);
    const other = await test.open({ backends: someBackends() });
    const repeats = [1, 2].map((repeat) => other.obtain(keyOf(call, repeat), never));
    const made = await jobs.make({ ...call, claim });
    for (const repeat of repeats) expect(await repeat).toMatchObject({ job: { id: made.id } });
    expect(await other.obtain({ ...keyOf(call, 1), keyId: 'key_other' }, never)).toHaveProperty('claim');
    await other.close();
  });

  it.each([
    ['came to nothing', (claim: Claim) => jobs.giveUp(claim, { isRepeated: true })],
    ['was refused for good', (claim: Claim) => jobs.giveUp(claim, { isRepeated: false })],
    [
      'was claimed by a process that is gone',
      ({ creationId }: Claim) =>
        test.db.execute(sql`
        UPDATE creation SET lives_until = now() WHERE creation_id = ${creationId}::UUID`),
    ],
  ])('makes the job itself, once, where the call before %s', async (_what, end) => {
    const call = aHeldCall();
    const claim = await claimOf(call);
    const repeats = [1, 2].map((repeat) => jobs.obtain(keyOf(call, repeat), never));
    await eventually(
      () => readCreations(test.db, [claim.creationId]),
      ([creation]) => creation?.repeat === 2,
    );
    await end(claim);
    const [first] = (await Promise.race(repeats.map(async (repeat) => [await repeat]))) ?? [];
    if (!first || 'job' in first) throw new Error('nothing was claimed');
    const made = await jobs.make({ ...call, claim: first.claim });
    const late = aCall({ request: call.request, keyId: call.hold.keyId, digest: call.digest });
    await expect(jobs.make({ ...late, claim })).rejects.toThrow('claim is void');
    await eventually(
      () => test.books.released,
      (released) => released.includes(late.hold.callId),
    );
    expect(await jobs.obtain(keyOf(call, 3), never)).toMatchObject({ job: { id: made.id } });
    // The other repeat that waited has no claim of its own.
    expect(await Promise.all(repeats)).toContainEqual({ job: expect.objectContaining({ id: made.id }) });
  });

  it('is claimed once where all that arrives of it are repeats, at the same time', async () => {
    const call = aHeldCall();
    const other = await test.open({ backends: someBackends() });
    const repeats = [jobs, other, jobs, other].map((through, nth) => through.obtain(keyOf(call, nth + 1), never));
    const first = await Promise.race(repeats);
    if ('job' in first) throw new Error('nothing was claimed');
    const made = await jobs.make({ ...call, claim: first.claim });
    const obtained = await Promise.all(repeats);
    expect(obtained.filter((each) => 'job' in each && each.job.id === made.id)).toHaveLength(3);
    await other.close();
  });

  it('gets no job that another repeat has, where two calls of one body are repeated', async () => {
    const [call, twin] = [aHeldCall(), aHeldCall()];
    Object.assign(twin, { digest: call.digest, hold: { ...twin.hold, keyId: call.hold.keyId } });
    const made = [await jobs.make(call), await jobs.make(twin)];
    for (const repeat of [1, 2]) {
      const got = await Promise.all([call, twin].map((each) => jobs.obtain(keyOf(each, repeat), never)));
      const ids = got.map((obtained) => 'job' in obtained && obtained.job.id);
      expect(new Set(ids)).toEqual(new Set(made.map(({ id }) => id)));
    }
  });

  it('is looked at together with all others that wait, however many a key has', async () => {
    let looks = 0;
    const counting = through(test.db, (run, sent) => {
      if (sent?.text.includes('FROM creation WHERE')) looks += 1;
      return run();
    });
    const process = await test.open({ db: counting, backends: someBackends() });
    const calls = [aHeldCall(), aHeldCall()];
    const claims = await Promise.all(calls.map((call) => claimOf(call)));
    const startedMs = performance.now();
    const repeats = calls.flatMap((call) => Array.from({ length: 30 }, () => process.obtain(keyOf(call, 1), never)));
    await delay(1_000);
    const made = await Promise.all(
      calls.map((call, nth) => jobs.make({ ...call, ...(claims[nth] && { claim: claims[nth] }) })),
    );
    const ids = (await Promise.all(repeats)).map((obtained) => 'job' in obtained && obtained.job.id);
    expect(new Set(ids)).toEqual(new Set(made.map(({ id }) => id)));
    expect(looks).toBeLessThanOrEqual((performance.now() - startedMs) / 100 + 1);
    await process.close();
  });

  it('gives up where the call before does not end and its client has left', async () => {
    const call = aHeldCall();
    await claimOf(call);
    await expect(jobs.obtain(keyOf(call, 1), AbortSignal.timeout(200))).rejects.toThrow();
  });

  describe('and was answered as it ran', () => {
    const TEXT = 'what was said';
    const answerOf = async (call: ReturnType<typeof aCall>, claim: Claim) => ({
      ...call,
      claim,
      made: { type: 'application/json', seconds: 3.5, read: async () => Readable.from([Buffer.from(TEXT)]) },
    });
    const aTranscript = () => aCall({ request: aTranscriptRequest({ model, isAsync: false }) });

    it('has the answer, charged once, for ten minutes, and nothing is left of it then', async () => {
      const call = aTranscript();
      const claim = await claimOf(call);
      const waiting = jobs.obtain(keyOf(call, 1), never);
      const noteSettled = await jobs.keepAnswer(await answerOf(call, claim));
      noteSettled();
      for (const repeat of [waiting, jobs.obtain(keyOf(call, 2), never)])
        expect(await repeat).toMatchObject({ job: { status: 'completed', usage: { chargeNanoUsd: 1_000_000n } } });
      const obtained = await waiting;
      if ('claim' in obtained) throw new Error('the answer was not kept');
      const [output] = obtained.job.outputs;
      if (!output) throw new Error('the answer has no bytes');
      expect(await text((await jobs.content(output)).content)).toBe(TEXT);
      const { id } = obtained.job;
      await eventually(
        () => test.read(id),
        ({ settledAt }) => settledAt !== null,
      );
      // The process that kept the answer settles the call.
      expect(settledOf(call.hold.callId)).toEqual([]);
      await test.age(id, 10 * 60_000);
      await eventually(
        () => test.read(id),
        ({ removedAt }) => removedAt !== null,
      );
      expect(await test.objectsOf(id)).toEqual([]);
      expect(await jobs.obtain(keyOf(call, 3), never)).toHaveProperty('claim');
    });

    it('is charged by its row, and has its answer, where its process ends before the call is settled', async () => {
      const gone = await test.open({
        backends: someBackends(),
        owner: `gone-${model}`,
        owners: { livesMs: 400, beatMs: 50 },
      });
      const call = aTranscript();
      const claim = await claimOf(call, 0, gone);
      await gone.keepAnswer(await answerOf(call, claim));
      await gone.close();
      const heir = await test.open({ backends: someBackends(), owners: { livesMs: 30_000, beatMs: 50 } });
      const obtained = await heir.obtain(keyOf(call, 1), never);
      if ('claim' in obtained) throw new Error('the answer was not kept');
      await test.age(obtained.job.id, 30_000);
      await eventually(
        () => settledOf(call.hold.callId),
        (settlements) => settlements.length > 0,
      );
      expect(settledOf(call.hold.callId)).toEqual([
        expect.objectContaining({ status: 'success', chargeNanoUsd: 1_000_000n }),
      ]);
      await heir.close();
    });

    it.each([
      ['its store is down', { store: () => Promise.reject(new Error('down')) }],
      ['its store does not answer', { store: () => new Promise<never>(() => {}) }],
    ])('is a call of its own where %s', async (_what, { store }) => {
      const process = await test.open({ backends: someBackends(), store: { ...test.store, put: store }, keepMs: 200 });
      const call = aTranscript();
      const claim = await claimOf(call, 0, process);
      await process.keepAnswer(await answerOf(call, claim));
      expect(await jobs.obtain(keyOf(call, 1), never)).toHaveProperty('claim');
      await process.close();
    });

    it('waits for a call that runs longer than a claim lives without a word', async () => {
      const call = aTranscript();
      const claim = await claimOf(call);
      const livesUntil = () =>
        test.db.query(
          sql<{ until: Date }>`SELECT lives_until AS until FROM creation WHERE creation_id = ${claim.creationId}::UUID`,
        );
      const [before] = await livesUntil();
      const kept = jobs.keepClaim(claim, { beatMs: 50 });
      await eventually(livesUntil, ([now]) => (now?.until ?? 0) > (before?.until ?? 0));
      await kept.close();
    });
  });

  it('has its hold back, and is free to be repeated, where no row was made and the database has no transaction to spare', async () => {
    const slow = through(test.db, async (run, sent) => {
      if (!sent || sent.text.includes('INSERT INTO job')) throw new Error('no connection in time');
      return run();
    });
    const process = await test.open({ db: slow, backends: someBackends() });
    const call = aHeldCall();
    await expect(process.make(call)).rejects.toThrow('no connection in time');
    await eventually(
      () => test.books.released,
      (released) => released.includes(call.hold.callId),
    );
    expect(await process.obtain(keyOf(call, 1), never)).toHaveProperty('claim');
    await process.close();
  });

  it('makes the job that could not be told of before: that one is undone, unrendered and uncharged', async () => {
    const losesAnswers = through(test.db, async (run, sent) => {
      const rows = await run();
      if (sent?.text.includes('INSERT INTO job')) throw new Error('the answer was lost');
      return rows;
    });
    const backends = someBackends(aReplica({ id: `replica-${model}`, model }));
    const broken = await test.open({ db: losesAnswers, backends });
    const call = aHeldCall();
    await expect(broken.make(call)).rejects.toThrow('the answer was lost');
    const [row] = await eventually(
      () =>
        test.db.query(sql<{ jobId: string }>`
        SELECT job_id AS "jobId" FROM job WHERE call_id = ${call.hold.callId}::UUID`),
      (rows) => rows.length > 0,
    );
    expect(await ended(row?.jobId ?? '', 'cancelled')).toMatchObject({ chargeNanoUsd: 0n, attempt: 0 });
    expect(settledOf(call.hold.callId)).toEqual([expect.objectContaining({ status: 'failure', chargeNanoUsd: 0n })]);
    expect([replica.begun, backends.of(`replica-${model}`).begun]).toEqual([[], []]);
    expect(await jobs.obtain(keyOf(call, 1), never)).toHaveProperty('claim');
    await broken.close();
  });
});

it('lists a key’s own clips, page by page, from where a page ended', async () => {
  replica.isUp = false;
  const keyId = `key_${model}`;
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1)
    ids.push((await jobs.make(aCall({ request: aVideoRequest({ model }), keyId }))).id);
  const list = { keyId, modality: 'video', order: 'desc', limit: 2 } as const;
  const first = await jobs.list({ ...list, after: undefined });
  expect(first.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
  const second = await jobs.list({ ...list, after: ids[3] });
  expect(second.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
});
