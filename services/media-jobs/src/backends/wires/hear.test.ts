import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { aBackendsFile, openBackend, silentLog, type TestBackend } from '../../../test/support/openBackends.ts';
import { aTestFolder, aTone, type TestFolder } from '../../../test/support/testFolder.ts';
import type { TranscriptRequest } from '../../terms/mediaRequest.ts';
import type { Transcript } from '../../terms/transcript.ts';
import { createBackends } from '../createBackends.ts';

/** Never fires: the time limit of a test is Jest's, and the file as a whole has none. */
const { signal } = new AbortController();
let files: TestFolder;
let path: string;

beforeAll(async () => {
  files = await aTestFolder();
  path = await files.make('speech.flac', [...aTone(8, 16_000)]);
});
afterAll(() => files.remove());

const aTranscript = (fields: Partial<TranscriptRequest> = {}): TranscriptRequest => ({
  operation: 'audio.transcriptions',
  model: 'test-model',
  file: { path: '', bytes: 0, sha256: '', discard: async () => {} },
  responseFormat: 'json',
  granularities: [],
  isStream: false,
  isAsync: false,
  ...fields,
});

describe.each(['vllm-asr', 'speaches'] as const)('a transcript of %s', (personality) => {
  let backend: TestBackend;
  beforeAll(async () => {
    backend = await openBackend(personality);
  });
  afterEach(() => backend.simulator.clearFaults());
  afterAll(() => backend.close());

  const hear = (fields?: Partial<TranscriptRequest>, type = 'audio/flac'): Promise<Transcript> =>
    backend.dialect.transcribe(backend.replica, aTranscript(fields), { path, type, seconds: 8 }, signal);

  it('has text and segments, asked for by the fields that are known', async () => {
    const fieldsOfClient = { language: 'en', prompt: 'foxes', temperature: 0.5 };
    const { text, language, segments, words } = await hear({ ...fieldsOfClient, responseFormat: 'srt' });
    expect({ language, words }).toEqual({ language: 'en', words: null });
    expect(
      segments
        ?.map((segment) => segment.text)
        .join('')
        .trim(),
    ).toBe(text.trim());
    const { fields, bytesReceived } = await backend.simulator.lastRequest('POST /v1/audio/transcriptions');
    const { length } = await readFile(path);
    expect(fields).toEqual({
      model: 'test-model',
      response_format: 'verbose_json',
      language: 'en',
      prompt: 'foxes',
      temperature: '0.5',
      file: `audio.flac (audio/flac, ${length} bytes)`,
    });
    expect(bytesReceived).toBeGreaterThan(length);
  });

  it('is asked for without times where it is to have none and they would cost text', async () => {
    const { text, segments } = await hear({ responseFormat: 'text' });
    expect(text).not.toBe('');
    expect(segments === null).toBe(personality === 'vllm-asr');
    const { fields } = await backend.simulator.lastRequest('POST /v1/audio/transcriptions');
    expect(fields.response_format).toBe(personality === 'vllm-asr' ? 'json' : 'verbose_json');
  });

  it('is of the seconds that were sent', async () => {
    await hear();
    const { renders } = await backend.simulator.log();
    expect(renders.at(-1)?.units.seconds).toBe(8);
  });

  it('of a recording in Ogg says so', async () => {
    await hear({}, 'audio/ogg');
    const { fields } = await backend.simulator.lastRequest('POST /v1/audio/transcriptions');
    expect(fields.file).toMatch(/^audio\.ogg \(audio\/ogg/);
  });

  it('of a translation names no language', async () => {
    expect((await hear({ operation: 'audio.translations', language: 'de' })).text).not.toBe('');
    const { fields } = await backend.simulator.lastRequest('POST /v1/audio/translations');
    expect(fields).not.toHaveProperty('language');
  });

  it('has words where the engine has them', async () => {
    const { words, text } = await hear({ granularities: ['word'], responseFormat: 'verbose_json' });
    if (personality === 'vllm-asr') expect(words).toBeNull();
    else
      expect(
        words
          ?.map(({ word }) => word)
          .join('')
          .trim(),
      ).toBe(text.trim());
  });

  it.each(['duration_negative', 'duration_other_form', 'usage_missing', 'usage_negative', 'usage_text'] as const)(
    'is the same under %s',
    async (fault) => {
      const expected = await hear();
      await backend.simulator.addFaults({ fault, times: 1 });
      expect(await hear()).toEqual(expected);
    },
  );

  it('has its segments in order', async () => {
    const read = async () =>
      (await hear({ responseFormat: 'srt' })).segments?.map(({ start, end, text }) => ({ start, end, text }));
    const expected = await read();
    await backend.simulator.addFaults({ fault: 'segments_out_of_order', times: 1 });
    expect(await read()).toEqual(expected);
  });

  it.each([
    ['refuse_500', { kind: 'failed' }],
    ['refuse_503', { kind: 'busy' }],
    ['reset_before_answer', { kind: 'cut_off' }],
    ['answer_lost', { kind: 'cut_off' }],
    ['html_with_200', { kind: 'failed' }],
    ['invalid_json', { kind: 'failed' }],
    ['body_empty', { kind: 'failed' }],
    ['body_reset', { kind: 'failed' }],
    ['transcript_of_30_mb', { kind: 'failed' }],
  ] as const)('under %s is none', async (fault, expected) => {
    await backend.simulator.addFaults({ match: { route: 'POST /v1/audio/transcriptions' }, fault, times: 1 });
    await expect(hear()).rejects.toMatchObject({ name: 'BackendFault', ...expected });
  });

  it('of what is no sound names the file', async () => {
    const nothing = await files.write('page.flac', '<html>');
    const hearing = backend.dialect.transcribe(
      backend.replica,
      aTranscript(),
      { path: nothing, type: 'audio/flac', seconds: 8 },
      signal,
    );
    await expect(hearing).rejects.toMatchObject({ kind: 'refused_request', param: 'file' });
  });
});

it('an engine without times is asked for them once, and for the text alone from then on', async () => {
  const asked: string[] = [];
  const engine = await serveHttp(async (req, res) => {
    if (req.method === 'GET') {
      res.end(JSON.stringify({ data: [{ id: 'served-name' }] }));
      return;
    }
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const isVerbose = body.includes('verbose_json');
    asked.push(isVerbose ? 'verbose_json' : 'json');
    expect(body).toContain('served-name');
    const refusal = { error: { message: 'response_format verbose_json is not supported for this model', code: 400 } };
    res.writeHead(isVerbose ? 400 : 200).end(JSON.stringify(isVerbose ? refusal : { text: 'Good morning' }));
  });
  const file = await aBackendsFile([{ id: 'asr', url: engine.url, engine: 'vllm-asr', model: 'm' }]);
  const backends = createBackends({ file: file.path, metrics: { alerted: () => {} }, log: silentLog });
  try {
    const replica = await until('the replica', () => backends.replicasFor('m')[0]);
    const { transcribe } = backends.dialectOf(replica);
    const expected = { text: 'Good morning', language: null, segments: null, words: null };
    for (let time = 0; time < 2; time += 1) {
      const request = aTranscript({ responseFormat: 'verbose_json' });
      expect(await transcribe?.(replica, request, { path, type: 'audio/flac', seconds: 8 }, signal)).toEqual(expected);
    }
    expect(asked).toEqual(['verbose_json', 'json', 'json']);
  } finally {
    await backends.close();
    await engine.close();
    await file.remove();
  }
});

it.each([
  ['nothing at all', '', []],
  ['nothing for 30 s', 'Good morning', null],
])(
  '%s, over which an engine fails that is to give times, has the text that it has without',
  async (_case, said, segments) => {
    const asked: string[] = [];
    const engine = await serveHttp(async (req, res) => {
      if (req.method === 'GET') {
        res.end(JSON.stringify({ data: [{ id: 'served-name' }] }));
        return;
      }
      let body = '';
      for await (const chunk of req) body += String(chunk);
      const isVerbose = body.includes('verbose_json');
      asked.push(isVerbose ? 'verbose_json' : 'json');
      const failure = { error: { message: 'tuple index out of range', type: 'InternalServerError', code: 500 } };
      res.writeHead(isVerbose ? 500 : 200).end(JSON.stringify(isVerbose ? failure : { text: said }));
    });
    const file = await aBackendsFile([{ id: 'asr', url: engine.url, engine: 'vllm-asr', model: 'm' }]);
    const backends = createBackends({ file: file.path, metrics: { alerted: () => {} }, log: silentLog });
    try {
      const replica = await until('the replica', () => backends.replicasFor('m')[0]);
      const { transcribe } = backends.dialectOf(replica);
      const request = aTranscript({ responseFormat: 'srt' });
      const expected = { text: said, language: null, segments, words: null };
      for (let time = 0; time < 2; time += 1) {
        expect(await transcribe?.(replica, request, { path, type: 'audio/flac', seconds: 8 }, signal)).toEqual(
          expected,
        );
      }
      expect(asked).toEqual(['verbose_json', 'json', 'verbose_json', 'json']);
    } finally {
      await backends.close();
      await engine.close();
      await file.remove();
    }
  },
);

describe('times of a recording of 8 s', () => {
  let answer = '';
  let engine: Awaited<ReturnType<typeof serveHttp>>;
  let file: Awaited<ReturnType<typeof aBackendsFile>>;
  let backends: ReturnType<typeof createBackends>;
  beforeAll(async () => {
    engine = await serveHttp(async (req, res) => {
      for await (const _chunk of req);
      res.end(req.method === 'GET' ? JSON.stringify({ data: [{ id: 'm' }] }) : answer);
    });
    file = await aBackendsFile([{ id: 'ear', url: engine.url, engine: 'speaches', model: 'm' }]);
    backends = createBackends({ file: file.path, metrics: { alerted: () => {} }, log: silentLog });
  });
  afterAll(async () => {
    await backends.close();
    await engine.close();
    await file.remove();
  });

  /** Returns the parsed times of an engine, written as they are in its JSON. */
  async function timesOf(start: string, end: string): Promise<Pick<Transcript, 'segments' | 'words'>> {
    const segment = `{ "start": 0, "end": 1, "text": "Good", "words": [{ "start": ${start}, "end": ${end}, "word": "Good" }] }`;
    const replica = await until('the replica', () => backends.replicasFor('m')[0]);
    const hear = async () => {
      const request = aTranscript({ responseFormat: 'verbose_json', granularities: ['segment', 'word'] });
      const audio = { path, type: 'audio/flac', seconds: 8 };
      const heard = await backends.dialectOf(replica).transcribe?.(replica, request, audio, signal);
      if (!heard) throw new Error('it hears nothing');
      return heard;
    };
    answer = `{ "text": "Good", "segments": [${segment}] }`;
    const { words, segments: whole } = await hear();
    expect(whole).toEqual([{ start: 0, end: 1, text: 'Good' }]);
    answer = `{ "text": "Good", "segments": [{ "start": ${start}, "end": ${end}, "text": "Good" }] }`;
    return { words, segments: (await hear()).segments };
  }

  it.each([
    ['1e999', '1e999'],
    ['0', '1e308'],
    ['0', 'null'],
    ['null', 'null'],
    ['"0"', '"1"'],
    ['-1', '1'],
    ['-2', '-1'],
    ['2', '1'],
    ['0', '10.1'],
    ['100', '101'],
  ])('that make no sense are as good as none: %s to %s', async (start, end) => {
    expect(await timesOf(start, end)).toEqual({ segments: null, words: null });
  });

  it.each([
    ['0', '8', 0, 8],
    ['3', '3', 3, 3],
    ['7.5', '9.9', 7.5, 8],
    ['8.1', '8.2', 8, 8],
  ])('end with the recording: %s to %s', async (start, end, shownStart, shownEnd) => {
    const shown = { start: shownStart, end: shownEnd };
    expect(await timesOf(start, end)).toEqual({
      segments: [{ ...shown, text: 'Good' }],
      words: [{ ...shown, word: 'Good' }],
    });
  });
});
