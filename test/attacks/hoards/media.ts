import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { aFlacBomb } from '../../../services/media-jobs/test/support/hostileSound.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { orderMediaBackends } from '../../support/mediaBackends.ts';
import { findBound, stack } from './stack.ts';

// One key takes media resources: the decoder, the queue of a model, the database, the calls of a replica. Calls of other keys were once
// refused until it stopped.

const MODELS = {
  image: 'flux.1-schnell',
  video: 'wan2.2-t2v-a14b',
  speech: 'kokoro-82m',
  transcript: 'whisper-large-v3',
};
const QUICK = { renderBaseMs: 20, msPerStep: 0, msPerFrame: 0, msPerAudioSecond: 0 };
const ROUNDS = 4;
/** Lists of queued jobs that one key asks for in its flood, 45 a second. */
const LISTS = 200;

afterEach(() => orderMediaBackends(stack, 'config', { body: QUICK }));

type Call = () => Promise<Response>;

/** Statuses of calls one after the other, and the shortest of their times, as a busy machine makes each longer. */
async function callOn(call: Call): Promise<{ statuses: number[]; shortestMs: number }> {
  const statuses: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    const answer = await call();
    await answer.arrayBuffer();
    statuses.push(answer.status);
    times.push(performance.now() - startedAt);
  }
  return { statuses, shortestMs: Math.min(...times) };
}
const ALL_SERVED = Array.from({ length: ROUNDS }, () => 200);

/** Repeats some calls, all at once, until the work is done. */
async function beside<Result>(
  calls: Call[],
  work: () => Promise<Result>,
): Promise<{ done: Result; statuses: number[] }> {
  let isOver = false;
  const statuses: number[] = [];
  const going = calls.map(async (call) => {
    while (!isOver) {
      // One that is refused before its body was read may find its connection closed.
      const answer = await call().catch(() => undefined);
      await answer?.text();
      if (answer) statuses.push(answer.status);
    }
  });
  const done = await work().finally(() => {
    isOver = true;
  });
  await Promise.all(going);
  return { done, statuses };
}

const send = ({ apiKey }: Account, path: string, options: RequestInit = {}): Promise<Response> =>
  fetch(`${stack.baseUrl}${path}`, { ...options, headers: { authorization: `Bearer ${apiKey}` } });

function upload(account: Account, bytes: Buffer): Promise<Response> {
  const form = new FormData();
  form.set('model', MODELS.transcript);
  form.set('file', new Blob([new Uint8Array(bytes)]), 'recording.flac');
  return send(account, '/audio/transcriptions', { method: 'POST', body: form });
}

const aPicture = (more: object = {}) => ({ model: MODELS.image, prompt: 'a cat', size: '512x512', ...more });

describe('media', () => {
  const tone = aFlacBomb({ channels: 1, rate: 16_000, frames: 1 });

  it.each([
    ['have a rate that no speech has', aFlacBomb({ channels: 8, rate: 655_350, frames: 50_000 })],
    ['take long and last no time', aFlacBomb({ channels: 8, rate: 192_000, frames: 50_000, isNumbered: false })],
    ['last longer than their key can pay for', aFlacBomb({ channels: 8, rate: 192_000, frames: 21_000 })],
  ])('uploads of one key that %s keep no other key from being transcribed', async (_what, bytes) => {
    const other = await makeAccount(stack);
    const attacker = await makeAccount(stack, {
      workspaceId: await stack.operator.makeWorkspace({ creditUsd: '0.0001' }),
    });
    expect((await upload(other, tone)).status).toBe(200);
    const { done, statuses } = await beside(
      Array.from({ length: 4 }, () => () => upload(attacker, bytes)),
      () => callOn(() => upload(other, tone)),
    );
    expect(done.statuses).toEqual(ALL_SERVED);
    expect(statuses.filter((status) => ![402, 422, 429, 503].includes(status))).toEqual([]);
    expect(statuses.length).toBeGreaterThan(0);
  });

  it('a queue of one key has no other key’s pictures refused, and is bounded', async () => {
    const [hoarder, other] = [await makeAccount(stack), await makeAccount(stack)];
    await orderMediaBackends(stack, 'config', { model: MODELS.image, body: { renderBaseMs: 2_000 } });
    const picture = () => other.post('/images/generations', aPicture());
    expect((await picture()).status).toBe(200);
    const queued: Promise<Response>[] = [];
    for (let job = 0; job < 130; job += 1) queued.push(hoarder.post('/images/generations', aPicture({ async: true })));
    const made = await Promise.all(queued);
    // How long a picture takes is asked for every 15 s: from then on the hoarder's own are refused.
    await until('the hoarder’s own pictures to be refused for the time that they would take', async () => {
      const { status } = await hoarder.post('/images/generations', aPicture());
      return status === 503;
    });
    expect((await callOn(picture)).statuses).toEqual(ALL_SERVED);
    const bodies = await Promise.all(made.map((answer) => answer.json() as Promise<{ id?: string; error?: unknown }>));
    const refused = bodies.filter((_body, nth) => made[nth]?.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const body of refused) expect(body).toMatchObject({ error: 'rate_limit_exceeded' });
    expect(await findBound('media-jobs', 'queued_jobs')).toHaveLength(1);
    const ids = bodies.flatMap(({ id }) => id ?? []);
    await Promise.all(ids.map((id) => send(hoarder, `/images/jobs/${id}`, { method: 'DELETE' })));
  });

  it('lists of queued clips keep no other key’s jobs waiting', async () => {
    const [lister, other] = [await makeAccount(stack), await makeAccount(stack)];
    await orderMediaBackends(stack, 'config', { model: MODELS.video, body: { renderBaseMs: 600_000 } });
    const aClip = { model: MODELS.video, prompt: 'a cat', seconds: '5', size: '832x480' };
    await Promise.all(Array.from({ length: 100 }, () => lister.post('/videos', aClip)));
    const look = async () => {
      const answer = await other.post('/images/generations', aPicture({ async: true }));
      const { id } = (await answer.clone().json()) as { id: string };
      const seen = await send(other, `/images/jobs/${id}`);
      return answer.status === 202 ? seen : answer;
    };
    // A key of which nothing is known yet, or a replica that has yet to be looked at, would be refused on a busy machine.
    await until('the other key to be served', async () => (await look()).status === 200);
    const lists: Promise<string>[] = [];
    const timer = setInterval(() => {
      // More would never end on a machine that is slower than they come.
      if (lists.length >= LISTS) return;
      const list = send(lister, '/videos?limit=100', { signal: AbortSignal.timeout(120_000) }).then(async (answer) => {
        const { error } = (await answer.json()) as { error?: string };
        return `${answer.status} ${error ?? ''}`.trim();
      });
      lists.push(list.catch(() => 'no answer'));
    }, 1_000 / 45);
    const victim = await callOn(look);
    await until('the flood to have been sent', () => lists.length >= LISTS);
    clearInterval(timer);
    const after = await callOn(look);
    const listed = new Set(await Promise.all(lists));
    // On a machine without processor time to spare, no connection to the jobs or to their database may open in time.
    listed.delete('503 service_unavailable');
    expect(listed).toEqual(new Set(['200', '429 rate_limit_exceeded']));
    expect([victim.statuses, after.statuses]).toEqual([ALL_SERVED, ALL_SERVED]);
    const page = await until('the lister to be let look again', async () => {
      const answer = await send(lister, '/videos?limit=100');
      return answer.ok && ((await answer.json()) as { data: { id: string }[] });
    });
    await Promise.all(page.data.map(({ id }) => send(lister, `/videos/${id}`, { method: 'DELETE' })));
  });

  it('speech of one key leaves other keys’ speech its part of the replicas', async () => {
    const [hoarder, other] = [await makeAccount(stack), await makeAccount(stack)];
    const renderMs = 500;
    await orderMediaBackends(stack, 'config', { model: MODELS.speech, body: { renderBaseMs: renderMs } });
    const say = ({ post }: Account) =>
      post('/audio/speech', { model: MODELS.speech, input: 'Hi.', voice: 'af_heart', response_format: 'pcm' });
    const quiet = await callOn(() => say(other));
    const { done, statuses } = await beside(
      Array.from({ length: 40 }, () => () => say(hoarder)),
      () => callOn(() => say(other)),
    );
    expect([quiet.statuses, done.statuses]).toEqual([ALL_SERVED, ALL_SERVED]);
    // Forty renders were before each of them, twenty on a replica.
    expect(done.shortestMs).toBeLessThan(20 * renderMs);
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  });
});
