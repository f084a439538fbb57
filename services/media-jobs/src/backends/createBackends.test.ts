import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { hastenPauses } from '@turnpike/lifecycle/test/hastenPauses';
import { MODEL } from '@turnpike/media-simulator/test/support/testReplica';
import { until } from '@turnpike/test-support/until';
import type { TestBackend } from '../../test/support/openBackends.ts';
import type { ImageRequest, SpeechRequest, TranscriptRequest, VideoRequest } from '../terms/mediaRequest.ts';
import { HEAR_HUNG_AFTER_MS, HUNG_AFTER_MS, SUBMIT_HUNG_AFTER_MS } from './limits.ts';

hastenPauses(10);
const { aBackendsFile, openBackend, silentLog } = await import('../../test/support/openBackends.ts');
const { createBackends } = await import('./createBackends.ts');
const { listBackendWarnings } = await import('./listBackendWarnings.ts');

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();
const anImage: ImageRequest = {
  operation: 'images.generations',
  model: MODEL,
  prompt: 'a fox',
  n: 1,
  size: { width: 16, height: 16 },
  outputFormat: 'png',
  responseFormat: 'b64_json',
  isAsync: false,
  isStream: false,
};

const aSpeechRequest: SpeechRequest = {
  operation: 'audio.speech',
  model: MODEL,
  input: 'a fox',
  voice: 'a voice',
  responseFormat: 'wav',
  characters: 5,
  speed: 1,
  streamFormat: 'audio',
  isAsync: false,
};
const aVideoRequest: VideoRequest = {
  operation: 'videos',
  model: MODEL,
  prompt: 'a fox',
  seconds: 1,
  size: { width: 16, height: 16 },
};
/** Any file, because no replica of these tests decodes it. */
const file = { path: fileURLToPath(import.meta.url), bytes: 1, sha256: '', discard: async () => {} };
const aTranscriptRequest: TranscriptRequest = {
  operation: 'audio.transcriptions',
  model: MODEL,
  file,
  responseFormat: 'json',
  granularities: [],
  isStream: false,
  isAsync: false,
};
const aRecording = { path: file.path, type: 'audio/flac', seconds: 1 };

describe('a replica', () => {
  let backend: TestBackend;
  afterEach(() => backend.close());

  const isIn = (): boolean => backend.backends.replicasFor(MODEL).length === 1;
  const render = () => backend.dialect.image(backend.replica, anImage, signal);
  const entry = (fields: object = {}): object => ({ ...backend.replica, ...fields });

  it('is known by its id and its model, with one slot unless its entry says more', async () => {
    backend = await openBackend('sglang');
    expect(backend.replica.slots).toBe(1);
    expect(backend.backends.find('replica-1')).toEqual(backend.replica);
    const inUse = { replica: backend.replica, state: 'ready', hasMissedCheck: false, isHung: false };
    expect(backend.backends.list()).toEqual([inUse]);
    expect([MODEL, 'another'].map((model) => backend.backends.isConfigured(model))).toEqual([true, false]);
    expect(backend.backends.replicasFor('another')).toEqual([]);
  });

  it('that drains gets nothing new, and is spoken to all the same', async () => {
    backend = await openBackend('sglang');
    await backend.file.list([entry({ draining: true })]);
    await until('draining', () => !isIn());
    expect(backend.backends.list()).toMatchObject([{ replica: { draining: true }, state: 'ready' }]);
    (await render()).destroy();
    await backend.file.list([entry({ slots: 2 })]);
    expect(await until('its return', () => backend.backends.replicasFor(MODEL)[0])).toMatchObject({ slots: 2 });
  });

  it('that is no longer listed is not known', async () => {
    backend = await openBackend('sglang');
    await backend.file.list([]);
    await until('its end', () => backend.backends.find('replica-1') === undefined);
    expect(backend.backends.isConfigured(MODEL)).toBe(false);
  });

  it('stays in while the file cannot be used', async () => {
    backend = await openBackend('sglang');
    await backend.file.write('{"backends": [{"id": "a"}]}');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(isIn()).toBe(true);
  });

  it('that takes no connection is out at once, and in when it takes one again', async () => {
    backend = await openBackend('sglang');
    await backend.simulator.admin('port', { port: 'closed' });
    await expect(render()).rejects.toMatchObject({ kind: 'unreachable' });
    expect(isIn()).toBe(false);
    expect(backend.alerts).toEqual([]);
    await backend.simulator.admin('port', { port: 'open' });
    await until('its return', isIn);
    (await render()).destroy();
  });

  it('that cuts off the connection of its work at once is out, and in after its next good answer', async () => {
    backend = await openBackend('sglang');
    const match = { route: 'POST /v1/images/generations' } as const;
    await backend.simulator.addFaults({ match, fault: 'reset_before_answer', times: 1 });
    await expect(render()).rejects.toMatchObject({ kind: 'cut_off' });
    expect(isIn()).toBe(false);
    await until('its return', isIn);
    (await render()).destroy();
  });

  it('that goes away while it works leaves nobody to say what came of it', async () => {
    backend = await openBackend('sglang');
    await backend.simulator.admin('pause', {});
    const rendering = render();
    const failing = expect(rendering).rejects.toMatchObject({ kind: 'answer_lost' });
    // An exchange that ends sooner had most likely not begun.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await backend.simulator.admin('restart', {});
    await failing;
  });

  it.each(['refuse_401', 'refuse_404'] as const)(
    'that says %s of its own model is out with an alert until a check passes',
    async (fault) => {
      backend = await openBackend('sglang');
      await backend.simulator.addFaults({ fault, match: { route: 'POST /v1/images/generations' }, times: 1 });
      await expect(render()).rejects.toMatchObject({ kind: 'misconfigured' });
      expect(isIn()).toBe(false);
      expect(backend.alerts).toEqual(['backend_misconfigured']);
      await until('its return', isIn);
      (await render()).destroy();
    },
  );

  it('that refuses the check stays out', async () => {
    backend = await openBackend('sglang');
    await backend.simulator.addFaults({ fault: 'refuse_401', match: { route: 'GET /v1/models' } });
    await until('its end', () => !isIn());
    expect(backend.alerts).toEqual(['backend_misconfigured']);
    await backend.simulator.clearFaults();
    await until('its return', isIn);
  });

  it.each(['never_answers', 'refuse_503', 'html_with_200'] as const)('whose checks meet %s is out', async (fault) => {
    backend = await openBackend('sglang');
    await backend.simulator.addFaults({ fault, match: { route: 'GET /v1/models' } });
    await until('its end', () => !isIn());
    expect(backend.backends.list()).toMatchObject([{ state: 'out' }]);
    await backend.simulator.clearFaults();
    await until('its return', isIn);
  });

  it('whose one check fails stays in', async () => {
    backend = await openBackend('sglang');
    await backend.simulator.addFaults({ fault: 'refuse_500', match: { route: 'GET /v1/models' }, times: 2 });
    const hasMissed = () => backend.backends.list()[0]?.hasMissedCheck;
    await until('a missed check', hasMissed);
    await until('two checks', async () => {
      const { requests } = await backend.simulator.log();
      expect(isIn()).toBe(true);
      return requests.filter((request) => request.fault === 'refuse_500').length === 2;
    });
    await until('a check that it answers', () => !hasMissed());
    expect(isIn()).toBe(true);
  });

  type Route = NonNullable<NonNullable<Parameters<TestBackend['simulator']['addFaults']>[0]['match']>['route']>;
  it.each<[string, Parameters<typeof openBackend>[0], Route, number, (signal: AbortSignal) => Promise<unknown>]>([
    [
      'images',
      'sglang',
      'POST /v1/images/generations',
      HUNG_AFTER_MS,
      (stop) => backend.dialect.image(backend.replica, anImage, stop),
    ],
    [
      'speech',
      'kokoro',
      'POST /v1/audio/speech',
      HUNG_AFTER_MS,
      (stop) => backend.dialect.speech(backend.replica, aSpeechRequest, stop),
    ],
    [
      'transcripts',
      'vllm-asr',
      'POST /v1/audio/transcriptions',
      HEAR_HUNG_AFTER_MS,
      (stop) => backend.dialect.transcribe(backend.replica, aTranscriptRequest, aRecording, stop),
    ],
    [
      'new videos',
      'sglang',
      'POST /v1/videos',
      SUBMIT_HUNG_AFTER_MS,
      (stop) => backend.dialect.createVideo(backend.replica, aVideoRequest, { signal: stop }),
    ],
  ])('that gives no %s hangs until it is started again', async (_case, personality, route, hungAfterMs, work) => {
    let passedMs = 0;
    backend = await openBackend(personality, {}, () => performance.now() + passedMs);
    await backend.simulator.addFaults({ fault: 'never_answers', match: { route } });
    const left = new AbortController();
    const working = work(left.signal);
    const hung = () =>
      listBackendWarnings(backend.backends).flatMap(({ kind, subject }) => (kind === 'backend_hung' ? [subject] : []));
    expect(hung()).toEqual([]);
    passedMs += hungAfterMs;
    expect(hung()).toEqual(['replica-1']);
    left.abort(new Error('left'));
    await expect(working).rejects.toThrow('left');
    // The only replica of its model keeps its work.
    expect(isIn()).toBe(true);
    expect(hung()).toEqual(['replica-1']);
    await backend.simulator.admin('port', { port: 'closed' });
    await until('its end', () => !isIn());
    await backend.simulator.admin('port', { port: 'open' });
    await until('its return', isIn);
    expect(hung()).toEqual([]);
  });

  it('that refuses a request works, however long it gave nothing', async () => {
    let passedMs = 0;
    backend = await openBackend('kokoro', {}, () => performance.now() + passedMs);
    const speak = (signal: AbortSignal) => backend.dialect.speech(backend.replica, aSpeechRequest, signal);
    const hang = async (): Promise<void> => {
      await backend.simulator.addFaults({ fault: 'never_answers', match: { route: 'POST /v1/audio/speech' } });
      const left = new AbortController();
      const working = speak(left.signal);
      passedMs += HUNG_AFTER_MS * 0.9;
      left.abort(new Error('left'));
      await expect(working).rejects.toThrow('left');
      await backend.simulator.clearFaults();
    };
    await hang();
    // The engine has no such voice.
    await expect(speak(signal)).rejects.toMatchObject({ kind: 'refused_request' });
    await hang();
    expect(backend.backends.list()).toMatchObject([{ isHung: false }]);
    await hang();
    expect(backend.backends.list()).toMatchObject([{ isHung: true }]);
  });
});

describe('a backends file', () => {
  const good = { id: 'a', url: 'http://127.0.0.1:1', engine: 'sglang', model: 'm' };

  it.each([
    ['no JSON', '{', /cannot be used: /],
    ['no list', '{}', /backends: /],
    ['an id twice', { backends: [good, good] }, /a backend id stands twice/],
    ['an id with blanks', { backends: [{ ...good, id: 'a b' }] }, /backends\.0\.id: must be letters/],
    ['no address', { backends: [{ ...good, url: 'ftp://a' }] }, /backends\.0\.url: must be an address/],
    ['an engine that nobody knows', { backends: [{ ...good, engine: 'comfy' }] }, /backends\.0\.engine: /],
    ['too many slots', { backends: [{ ...good, slots: 1_000 }] }, /backends\.0\.slots: /],
    ['a field that nobody knows', { backends: [good, { ...good, id: 'b', weight: 2 }] }, /backends\.1: .*weight/],
  ])('with %s is refused in one line that says where', async (_case, content, line) => {
    const file = await aBackendsFile([]);
    await file.write(typeof content === 'string' ? content : JSON.stringify(content));
    const open = () => createBackends({ file: file.path, metrics: { alerted: () => {} }, log: silentLog });
    expect(open).toThrow(line);
    expect(open).toThrow(/^MEDIA_BACKENDS_FILE .*$/);
    await file.remove();
  });
});
