import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openBackend, type TestBackend } from '../../../test/support/openBackends.ts';
import type { SpeechFormat, SpeechRequest } from '../../terms/mediaRequest.ts';

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();
const FORMATS: readonly SpeechFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];

const ENGINES = [
  { personality: 'vllm-omni-2026', voice: 'vivian', lacks: ['aac'], events: ['wav', 'pcm'] },
  { personality: 'speaches', voice: 'af_heart', lacks: [], events: FORMATS },
  { personality: 'kokoro', voice: 'af_bella', lacks: [], events: [] },
] as const;

describe.each(ENGINES)('speech of $personality', ({ personality, voice, lacks, events }) => {
  let backend: TestBackend;
  beforeAll(async () => {
    backend = await openBackend(personality);
  });
  afterEach(() => backend.simulator.clearFaults());
  afterAll(() => backend.close());

  const aSpeech = (fields: Partial<SpeechRequest> = {}): SpeechRequest => ({
    operation: 'audio.speech',
    model: 'test-model',
    input: 'Good morning, dear fox.',
    characters: 23,
    voice,
    responseFormat: 'wav',
    speed: 1,
    streamFormat: 'audio',
    isAsync: false,
    ...fields,
  });
  async function speak(fields?: Partial<SpeechRequest>): Promise<{ bytes: Buffer; format: SpeechFormat }> {
    const { audio, format } = await backend.dialect.speech(backend.replica, aSpeech(fields), signal);
    return { bytes: await buffer(audio), format };
  }

  it.each(FORMATS)('is what was made, in %s or in WAV', async (responseFormat) => {
    const { bytes, format } = await speak({ responseFormat });
    const isLacking = (lacks as readonly SpeechFormat[]).includes(responseFormat);
    expect(format).toBe(isLacking ? 'wav' : responseFormat);
    const { renders } = await backend.simulator.log();
    expect(renders.at(-1)).toMatchObject({ outputs: [{ bytes: bytes.length }] });
    const { fields } = await backend.simulator.lastRequest('POST /v1/audio/speech');
    const isEvents = (events as readonly SpeechFormat[]).includes(format);
    expect(fields).toEqual({
      model: 'test-model',
      input: 'Good morning, dear fox.',
      voice,
      response_format: format,
      speed: '1',
      ...(isEvents && { stream_format: 'sse' }),
      ...(personality === 'kokoro' && { stream: 'true' }),
    });
  });

  it('at another speed', async () => {
    const [slow, fast] = [await speak({ speed: 0.5 }), await speak({ speed: 2 })];
    expect(slow.bytes.length / fast.bytes.length).toBeGreaterThan(3);
  });

  it('begins when the engine begins, and not when it has ended', async () => {
    await backend.simulator.configure({ renderBaseMs: 3_000 });
    try {
      const { audio } = await backend.dialect.speech(backend.replica, aSpeech({ input: 'fox '.repeat(40) }), signal);
      const { renders } = await backend.simulator.log();
      expect(renders.at(-1)?.state).toBe('running');
      await buffer(audio);
    } finally {
      await backend.simulator.configure({ renderBaseMs: 0 });
    }
  });

  it.each([
    ['refuse_500', { kind: 'failed' }],
    ['refuse_503', { kind: 'busy' }],
    ['refuse_429', { kind: 'busy' }],
    ['reset_before_answer', { kind: 'cut_off' }],
    ['answer_lost', { kind: 'cut_off' }],
    ['html_with_200', { kind: 'failed' }],
    ['output_empty', { kind: 'failed' }],
    ['output_html', { kind: 'failed' }],
    ['output_without_content', { kind: 'failed' }],
    ['output_wrong_kind', { kind: 'failed' }],
  ] as const)('under %s never begins', async (fault, expected) => {
    await backend.simulator.addFaults({ match: { route: 'POST /v1/audio/speech' }, fault, times: 1 });
    await expect(speak()).rejects.toMatchObject({ name: 'BackendFault', ...expected });
  });

  it.each([
    ['body_reset', { afterBytes: 40_000 }],
    ['render_fails_with_prompt', {}],
    ...(events.length > 0 ? [['speech_without_done', {}] as const] : []),
  ] as const)('under %s is not taken for whole', async (fault, options) => {
    await backend.simulator.addFaults({ match: { route: 'POST /v1/audio/speech' }, fault, times: 1, ...options });
    await expect(speak({ input: 'a long sentence '.repeat(20) })).rejects.toMatchObject({ kind: 'failed' });
  });

  it('of a voice that the engine does not have names the voice', async () => {
    const expected = personality === 'speaches' ? { kind: 'refused_request', param: 'voice' } : { param: 'voice' };
    await expect(speak({ voice: 'nobody' })).rejects.toMatchObject(expected);
  });

  it('that nobody hears any more stops the engine, or its answer at least', async () => {
    await backend.simulator.addFaults({
      fault: 'body_slow',
      match: { route: 'POST /v1/audio/speech' },
      times: 1,
      byteMs: 5,
    });
    await backend.simulator.configure({ renderBaseMs: 60_000 });
    const { audio } = await backend.dialect.speech(backend.replica, aSpeech({ input: 'fox '.repeat(400) }), signal);
    audio.destroy();
    const request = await backend.simulator.lastRequest('POST /v1/audio/speech');
    expect(request.state).toBe('aborted');
    await backend.simulator.configure({ renderBaseMs: 0 });
  });
});
