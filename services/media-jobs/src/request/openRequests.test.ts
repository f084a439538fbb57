import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { transcriptionFieldsSchema, translationFieldsSchema } from '@turnpike/public-api/transcriptionRequest';
import { videoRequestSchema } from '@turnpike/public-api/videoRequest';
import { aPng } from '@turnpike/test-support/anImage';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import type { FormPart } from '../../test/aFormBody.ts';
import { anEarModel, anImageModel, aSpeechModel, aVideoModel } from '../../test/aMediaModel.ts';
import { aForm, aJsonRequest, anExchange } from '../../test/anExchange.ts';
import type { MediaRequest } from '../terms/mediaRequest.ts';
import type { Exchange } from './form/readForm.ts';
import type { MediaDraft } from './mediaDraft.ts';
import type { RequestedModel } from './models/modelRules.ts';
import { openRequests, type Requests } from './openRequests.ts';

const IMAGE = { model: 'm', prompt: 'a cat' };
const VIDEO = { model: 'm', prompt: 'a cat' };
const SPEECH = { model: 'm', input: 'Hello 🎙', voice: 'af_heart' };
const FILE: FormPart = { name: 'file', value: 'RIFF', fileName: '../../x.wav' };
const PNG = aPng({ comment: 'of the client' });
const REQUESTED_MODELS = {
  image: anImageModel({
    id: 'flux',
    media: { capabilities: { sizes: ['512x512', '1024x768'], outputFormats: ['png', 'webp'], maxImages: 4 } },
  }),
  video: aVideoModel({ id: 'wan', inputModalities: ['text', 'image'] }),
  speech: aSpeechModel({
    id: 'kokoro',
    media: { capabilities: { voices: ['af_heart', 'am_adam'], outputFormats: ['mp3', 'wav'] } },
  }),
  'speech-to-text': anEarModel({ id: 'whisper' }),
};
const CALLER = { workspaceId: 'ws_1', keyId: 'key_1' };

let requests: Requests;
let host: HttpStandIn;
beforeAll(async () => {
  host = await serveHttp((req, res) => res.end(req.url === '/cat.png' ? PNG : 'not an image'));
  requests = await openRequests({
    folder: join(await aTemporaryFolder(), 'parts'),
    memoryMaxBytes: 64 * 1_048_576,
    diskMaxBytes: 64 * 1_048_576,
    imagesTimeoutMs: 5_000,
    imagePrivateHosts: new Set([new URL(host.url).host]),
  });
});
afterAll(() => host.close());

const texts = (fields: Record<string, string>): FormPart[] =>
  Object.entries(fields).map(([name, value]) => ({ name, value }));
const readImage = (fields: object) => requests.readImageRequest(aJsonRequest(fields), 'key_1');
const readVideo = (exchange: Exchange) => requests.readVideoRequest(exchange, 'key_1');
const readSpeech = (fields: object) => requests.readSpeechRequest(aJsonRequest(fields), 'key_1');
const transcribe = (...parts: FormPart[]) =>
  requests.readTranscriptRequest('audio.transcriptions', aForm(...parts), 'key_1');
const translate = (...parts: FormPart[]) =>
  requests.readTranscriptRequest('audio.translations', aForm(...parts), 'key_1');

/** The request to a model, or why there is none. */
async function outcomeOf<Request extends MediaRequest>(
  reading: Promise<MediaDraft<Request>>,
  model: RequestedModel,
): Promise<unknown> {
  try {
    const draft = await reading;
    try {
      return draft.forModel(model);
    } finally {
      await draft.discard();
    }
  } catch (error) {
    if (error instanceof ApiError) return error.fault;
    throw error;
  }
}
const refusal = (param: string, message: unknown) => ({ kind: 'invalid_request', param, message });

const NO_LANGUAGE = 'language must be the code of a language, as in en, yue or en-US';
const NO_WORDS = refusal(
  'timestamp_granularities[]',
  'timestamp_granularities[] must be segment: this model times segments, not words',
);
const NO_TIMES = refusal('response_format', 'response_format must be json or text: this model gives no times');

describe('images', () => {
  const { image } = REQUESTED_MODELS;

  it('are what the model makes by default where only a prompt is given', async () => {
    expect(
      await outcomeOf(readImage({ ...IMAGE, n: null, size: 'auto', user: 'u', moderation: 'low' }), image),
    ).toEqual({
      operation: 'images.generations',
      model: 'flux',
      prompt: 'a cat',
      n: 1,
      size: { width: 512, height: 512 },
      outputFormat: 'png',
      responseFormat: 'b64_json',
      isAsync: false,
      isStream: false,
    });
  });

  it('are asked for with every field of the convention', async () => {
    const fields = {
      ...IMAGE,
      n: 4,
      size: '1024x768',
      output_format: 'webp',
      output_compression: 80,
      response_format: 'url',
      quality: 'hd',
      style: 'vivid',
      background: 'opaque',
      partial_images: 0,
      stream: false,
      async: true,
    };
    expect(await outcomeOf(readImage(fields), image)).toEqual({
      operation: 'images.generations',
      model: 'flux',
      prompt: 'a cat',
      n: 4,
      size: { width: 1024, height: 768 },
      outputFormat: 'webp',
      outputCompression: 80,
      responseFormat: 'url',
      quality: 'hd',
      style: 'vivid',
      background: 'opaque',
      isAsync: true,
      isStream: false,
    });
  });

  it.each<[object, string, string]>([
    [{ prompt: 'x' }, 'model', 'model is required'],
    [{ model: 'm' }, 'prompt', 'prompt is required'],
    [{ ...IMAGE, prompt: '' }, 'prompt', 'prompt must not be empty'],
    [{ ...IMAGE, prompt: '🐈'.repeat(4_001) }, 'prompt', 'prompt must have at most 4000 characters, not 4001'],
    [{ ...IMAGE, n: 0 }, 'n', 'n must be at least 1, not 0'],
    [{ ...IMAGE, n: 5 }, 'n', 'n must be at most 4 for this model, not 5'],
    [{ ...IMAGE, n: 1.5 }, 'n', 'n must be a whole number'],
    [{ ...IMAGE, size: '1x1' }, 'size', 'size must be 512x512 or 1024x768 for this model, not 1x1'],
    [{ ...IMAGE, size: 'big' }, 'size', 'size must be auto or a width and a height, as in 1024x1024'],
    [
      { ...IMAGE, output_format: 'jpeg' },
      'output_format',
      'output_format must be png or webp for this model, not jpeg',
    ],
    [{ ...IMAGE, output_format: 'gif' }, 'output_format', 'output_format must be png, jpeg or webp'],
    [{ ...IMAGE, output_compression: 50 }, 'output_compression', 'output_compression is for jpeg and webp'],
    [
      { ...IMAGE, partial_images: 1 },
      'partial_images',
      'partial_images must be 0: no model shows images before they are done',
    ],
    [{ ...IMAGE, stream: true, async: true }, 'stream', 'stream cannot be asked for together with async'],
    [{ ...IMAGE, lora: { path: '/etc' } }, 'lora', 'lora is not supported'],
    [{ ...IMAGE, extra_params: {} }, 'extra_params', 'extra_params is not supported'],
  ])('%j are 422 and name %s', async (fields, param, message) => {
    expect(await outcomeOf(readImage(fields), image)).toEqual(refusal(param, message));
  });

  it('take an unknown field that is null for absence', async () => {
    expect(await outcomeOf(readImage({ ...IMAGE, extra_params: null }), image)).not.toHaveProperty('extra_params');
  });

  it.each([['video'], ['speech'], ['speech-to-text']] as const)('are not made by a model of %s', async (kind) => {
    expect(await outcomeOf(readImage(IMAGE), REQUESTED_MODELS[kind])).toEqual(
      refusal('model', expect.stringMatching(/^model must be one for making images; .+ is called at \/v1\//)),
    );
  });

  it('take a prompt of 4,000 characters, however many units they are', async () => {
    expect(await outcomeOf(readImage({ ...IMAGE, prompt: '🐈'.repeat(4_000) }), image)).toHaveProperty('prompt');
  });

  it.each<[string, Exchange, object]>([
    [
      'a body of another type',
      anExchange([Buffer.from('{}')], { 'content-type': 'text/plain' }),
      { kind: 'body_not_json_type' },
    ],
    [
      'malformed JSON',
      anExchange([Buffer.from('{')], { 'content-type': 'application/json' }),
      { kind: 'body_not_json' },
    ],
    [
      'more than 1 MiB',
      anExchange([Buffer.alloc(1_048_577, ' ')], { 'content-type': 'application/json' }),
      { kind: 'body_too_large', maxBytes: 1_048_576 },
    ],
  ])('do not parse from %s', async (_case, exchange, fault) => {
    expect(await outcomeOf(requests.readImageRequest(exchange, 'key_1'), image)).toEqual(fault);
  });
});

describe('videos', () => {
  const { video } = REQUESTED_MODELS;
  const plain = {
    operation: 'videos',
    model: 'wan',
    prompt: 'a cat',
    seconds: 5,
    size: { width: 832, height: 480 },
  };
  const reference = { bytes: PNG, type: 'image/png' };
  const dataUrl = `data:image/png;base64,${PNG.toString('base64')}`;

  it.each<[string, () => Exchange]>([
    ['JSON with seconds as text', () => aJsonRequest({ ...VIDEO, seconds: '5', size: '832x480' })],
    ['JSON with seconds as a number', () => aJsonRequest({ ...VIDEO, seconds: 5 })],
    ['a form', () => aForm(...texts({ seconds: '5', size: 'auto', ...VIDEO }))],
  ])('are asked for by %s', async (_case, exchange) => {
    expect(await outcomeOf(readVideo(exchange()), video)).toEqual(plain);
  });

  it.each<[string, () => Exchange]>([
    [
      'a file',
      () => aForm({ name: 'input_reference', value: PNG, fileName: 'x.exe' }, ...texts({ ...VIDEO, seconds: '5' })),
    ],
    ['a data URL in a form', () => aForm(...texts({ ...VIDEO, seconds: '5', 'input_reference[image_url]': dataUrl }))],
    ['a data URL in JSON', () => aJsonRequest({ ...VIDEO, seconds: 5, input_reference: { image_url: dataUrl } })],
    [
      'a data URL of another type, case and parameters',
      () => aJsonRequest({ ...VIDEO, seconds: 5, input_reference: `DATA:;name=a;base64,${PNG.toString('base64')}` }),
    ],
    ['a data URL by itself', () => aJsonRequest({ ...VIDEO, seconds: 5, input_reference: dataUrl })],
  ])('begin with an image that comes as %s', async (_case, exchange) => {
    expect(await outcomeOf(readVideo(exchange()), video)).toEqual({ ...plain, inputReference: reference });
  });

  it('begin with an image that is fetched once the call is admitted', async () => {
    const draft = await readVideo(aJsonRequest({ ...VIDEO, seconds: 5, input_reference: `${host.url}/cat.png` }));
    const request = draft.forModel(video);
    expect(request).toEqual(plain);
    expect(await draft.fetchReference(request, CALLER, new AbortController().signal)).toEqual({
      ...plain,
      inputReference: reference,
    });
    await draft.discard();
  });

  it.each(['http://127.0.0.1/x.png', 'ftp://example.com/x.png', () => `${host.url}/page.html`])(
    'are refused alike for an address that leads to no image: %s',
    async (address) => {
      const url = typeof address === 'string' ? address : address();
      const draft = await readVideo(aJsonRequest({ ...VIDEO, input_reference: { image_url: url } }));
      const fetched = draft.fetchReference(draft.forModel(video), CALLER, new AbortController().signal);
      await expect(fetched).rejects.toMatchObject({
        fault: {
          kind: 'invalid_request',
          param: 'input_reference',
          message: expect.stringMatching(/^input_reference cannot be fetched or decoded/),
        },
      });
      await draft.discard();
    },
  );

  it.each<[string, () => Exchange, string, string]>([
    ['4 s', () => aJsonRequest({ ...VIDEO, seconds: '4' }), 'seconds', 'seconds must be 3 or 5 for this model, not 4'],
    [
      '03 s',
      () => aJsonRequest({ ...VIDEO, seconds: '03' }),
      'seconds',
      'seconds must be a whole number of seconds from 1 to 9999',
    ],
    [
      '03 s in a form',
      () => aForm(...texts({ ...VIDEO, seconds: '03' })),
      'seconds',
      'seconds must be a whole number of seconds from 1 to 9999',
    ],
    [
      'an image in a part without a file name',
      () => aForm({ name: 'input_reference', value: PNG }, ...texts(VIDEO)),
      'input_reference',
      'input_reference has no file name, which a file needs here',
    ],
    [
      '5.5 s',
      () => aJsonRequest({ ...VIDEO, seconds: '5.5' }),
      'seconds',
      'seconds must be a whole number of seconds from 1 to 9999',
    ],
    [
      'a size that it has not',
      () => aJsonRequest({ ...VIDEO, size: '1x1' }),
      'size',
      'size must be 832x480 for this model, not 1x1',
    ],
    ['frames', () => aForm(...texts({ ...VIDEO, num_frames: '81' })), 'num_frames', 'num_frames is not supported'],
    [
      'a prompt as a file',
      () => aForm({ name: 'prompt', value: 'x', fileName: 'x' }),
      'prompt',
      'prompt may not be a file',
    ],
    [
      'two images',
      () =>
        aForm({ name: 'input_reference', value: PNG, fileName: 'x' }, ...texts({ ...VIDEO, input_reference: dataUrl })),
      'input_reference',
      'input_reference is given more than once',
    ],
  ])('with %s are 422', async (_case, exchange, param, message) => {
    expect(await outcomeOf(readVideo(exchange()), video)).toEqual(refusal(param, message));
  });

  it('are refused with an image that is none, or that the model does not take', async () => {
    const form = () => aForm({ name: 'input_reference', value: 'GIF89a', fileName: 'x.gif' }, ...texts(VIDEO));
    expect(await outcomeOf(readVideo(form()), video)).toMatchObject({ param: 'input_reference' });
    const withImage = aJsonRequest({ ...VIDEO, input_reference: dataUrl });
    expect(await outcomeOf(readVideo(withImage), { ...video, inputModalities: ['text'] })).toEqual(
      refusal('input_reference', 'input_reference is not taken by this model'),
    );
  });
});

describe('speech', () => {
  const { speech } = REQUESTED_MODELS;

  it('is counted by code points, as it was sent', async () => {
    expect(await outcomeOf(readSpeech({ ...SPEECH, instructions: '' }), speech)).toEqual({
      operation: 'audio.speech',
      model: 'kokoro',
      input: 'Hello 🎙',
      characters: 7,
      voice: 'af_heart',
      responseFormat: 'mp3',
      speed: 1,
      streamFormat: 'audio',
      isAsync: false,
    });
  });

  it('is asked for with every field of the convention', async () => {
    const fields = {
      ...SPEECH,
      voice: { id: 'am_adam' },
      instructions: 'cheerful',
      response_format: 'wav',
      speed: 0.25,
      stream_format: 'sse',
    };
    expect(await outcomeOf(readSpeech(fields), speech)).toMatchObject({
      voice: 'am_adam',
      instructions: 'cheerful',
      responseFormat: 'wav',
      speed: 0.25,
      streamFormat: 'sse',
    });
  });

  it.each<[object, string, string]>([
    [{ ...SPEECH, input: ' \n' }, 'input', 'input must not be empty'],
    [{ ...SPEECH, input: '🎙'.repeat(4_097) }, 'input', 'input must have at most 4096 characters, not 4097'],
    [{ model: 'm', input: 'x' }, 'voice', 'voice is required'],
    [{ ...SPEECH, voice: 7 }, 'voice', 'voice must be a voice or {"id": "…"}'],
    [{ ...SPEECH, voice: 'constructor' }, 'voice', 'voice must be af_heart or am_adam for this model, not constructor'],
    [{ ...SPEECH, voice: 'alloy' }, 'voice', 'voice must be af_heart or am_adam for this model, not alloy'],
    [{ ...SPEECH, speed: 5 }, 'speed', 'speed must be at most 4, not 5'],
    [
      { ...SPEECH, response_format: 'aac' },
      'response_format',
      'response_format must be mp3 or wav for this model, not aac',
    ],
    [
      { ...SPEECH, stream_format: 'sse', async: true },
      'stream_format',
      'stream_format cannot be sse together with async',
    ],
    [{ ...SPEECH, ref_audio: 'http://x' }, 'ref_audio', 'ref_audio is not supported'],
  ])('%j is 422 and names %s', async (fields, param, message) => {
    expect(await outcomeOf(readSpeech(fields), speech)).toEqual(refusal(param, message));
  });

  it.each(['alloy', 'af_heart'])('has a voice by its alias: %s', async (voice) => {
    const capabilities = { voices: ['af_heart'], voiceAliases: { alloy: 'af_heart' }, outputFormats: ['mp3' as const] };
    const aliased = aSpeechModel({ media: { capabilities } });
    expect(await outcomeOf(readSpeech({ ...SPEECH, voice }), aliased)).toMatchObject({ voice: 'af_heart' });
  });

  it('with half a surrogate pair is 422', async () => {
    const exchange = anExchange([Buffer.from('{"model":"m","voice":"af_heart","input":"\\ud83c"}')], {
      'content-type': 'application/json',
    });
    expect(await outcomeOf(requests.readSpeechRequest(exchange, 'key_1'), speech)).toEqual({
      kind: 'body_text_unsendable',
      has: 'half a surrogate pair',
      param: 'input',
    });
  });
});

describe('transcripts', () => {
  const model = REQUESTED_MODELS['speech-to-text'];

  it('are made of a file with the fields around it, in any order', async () => {
    const draft = await transcribe(
      { name: 'timestamp_granularities[]', value: 'word' },
      ...texts({ response_format: 'verbose_json', temperature: '0.2', stream: 'false' }),
      FILE,
      ...texts({ model: 'm', language: 'en', prompt: 'Turnpike', chunking_strategy: 'auto' }),
      { name: 'timestamp_granularities[]', value: 'segment' },
    );
    const request = draft.forModel(
      anEarModel({ id: 'whisper', media: { capabilities: { timestamps: ['segment', 'word'] } } }),
    );
    expect(request).toMatchObject({
      operation: 'audio.transcriptions',
      model: 'whisper',
      language: 'en',
      prompt: 'Turnpike',
      temperature: 0.2,
      responseFormat: 'verbose_json',
      granularities: ['word', 'segment'],
      isStream: false,
      isAsync: false,
    });
    expect(await readFile(request.file.path, 'latin1')).toBe('RIFF');
    await draft.discard();
    await expect(readFile(request.file.path)).rejects.toThrow();
  });

  it.each<[string, FormPart[], string, string]>([
    ['no file', texts({ model: 'm' }), 'file', 'file is required'],
    ['a list for a file', texts({ model: 'm', 'file[]': 'RIFF' }), 'file', 'file must be a file'],
    [
      'a file that nobody has chosen',
      [...texts({ model: 'm' }), { ...FILE, value: '', fileName: '' }],
      'file',
      'file is required',
    ],
    ['an empty file', [...texts({ model: 'm' }), { ...FILE, value: '' }], 'file', 'file must not be empty'],
    ['no model', [FILE], 'model', 'model is required'],
    [
      'a model twice',
      [FILE, ...texts({ model: 'm' }), ...texts({ model: 'n' })],
      'model',
      'model is given more than once',
    ],
    ['a language by its name', [FILE, ...texts({ model: 'm', language: 'english' })], 'language', NO_LANGUAGE],
    ['a language that is none', [FILE, ...texts({ model: 'm', language: 'qq' })], 'language', NO_LANGUAGE],
    [
      'a temperature above 1',
      [FILE, ...texts({ model: 'm', temperature: '1.1' })],
      'temperature',
      'temperature must be at most 1, not 1.1',
    ],
    [
      'a temperature with a zero in front',
      [FILE, ...texts({ model: 'm', temperature: '00.5' })],
      'temperature',
      'temperature must be a number',
    ],
    [
      'a temperature that is none',
      [FILE, ...texts({ model: 'm', temperature: 'hot' })],
      'temperature',
      'temperature must be a number',
    ],
    [
      'another format',
      [FILE, ...texts({ model: 'm', response_format: 'diarized_json' })],
      'response_format',
      'response_format must be json, text, srt, vtt or verbose_json',
    ],
    [
      'times without their format',
      [FILE, ...texts({ model: 'm' }), { name: 'timestamp_granularities[]', value: 'word' }],
      'timestamp_granularities[]',
      'timestamp_granularities[] is only for response_format verbose_json',
    ],
    [
      'a stream of subtitles',
      [FILE, ...texts({ model: 'm', stream: 'true', response_format: 'srt' })],
      'stream',
      'stream is only for response_format json or text',
    ],
    [
      'a stream of a job',
      [FILE, ...texts({ model: 'm', stream: 'true', async: 'true' })],
      'stream',
      'stream cannot be asked for together with async',
    ],
    [
      'logprobs',
      [FILE, ...texts({ model: 'm' }), { name: 'include[]', value: 'logprobs' }],
      'include',
      'include is not supported',
    ],
    [
      'a chunking of its own',
      [FILE, ...texts({ model: 'm', 'chunking_strategy[type]': 'server_vad' })],
      'chunking_strategy',
      'chunking_strategy must be auto',
    ],
    [
      'what only engines know',
      [FILE, ...texts({ model: 'm', vllm_xargs: '{}' })],
      'vllm_xargs',
      'vllm_xargs is not supported',
    ],
  ])('with %s are 422', async (_case, parts, param, message) => {
    expect(await outcomeOf(transcribe(...parts), model)).toEqual(refusal(param, message));
  });

  it.each(['en', 'eng', 'EN', 'en-US', 'en_GB'])('know a language by %s', async (language) => {
    expect(await outcomeOf(transcribe(FILE, ...texts({ model: 'm', language })), model)).toMatchObject({
      language: 'en',
    });
  });

  it.each([
    ['yue', 'yue'],
    ['haw', 'haw'],
    ['jv', 'jw'],
    ['jav', 'jw'],
    ['tl', 'tl'],
    ['fil', 'tl'],
    ['nb-NO', 'no'],
    ['zh-Hant-TW', 'zh'],
    ['cmn', 'zh'],
    ['auto', undefined],
    ['', undefined],
  ])('name the language %s as the model does: %s', async (language, expected) => {
    const capabilities = { maxMinutes: 1, languages: ['haw', 'jw', 'no', 'tl', 'yue', 'zh'] };
    const polyglot = anEarModel({ media: { capabilities } });
    const ask = (named: string) => outcomeOf(transcribe(FILE, ...texts({ model: 'm', language: named })), polyglot);
    expect(((await ask(language)) as { language?: string }).language).toBe(expected);
    expect(await ask('de')).toEqual(
      refusal('language', 'language must be haw, jw, no, tl, yue or zh for this model, not de'),
    );
  });

  it.each(['audio/wav', undefined])('are made of a file without a name, of type %s', async () => {
    expect(await outcomeOf(transcribe({ name: 'file', value: 'RIFF' }, ...texts({ model: 'm' })), model)).toMatchObject(
      {
        file: { bytes: 4 },
      },
    );
  });

  it.each<['segment'[] | ['segment', 'word'] | undefined, string, string[], object]>([
    [undefined, 'verbose_json', ['segment'], { granularities: ['segment'] }],
    [undefined, 'verbose_json', ['word'], NO_WORDS],
    [['segment'], 'verbose_json', ['segment', 'word'], NO_WORDS],
    [['segment'], 'srt', [], { responseFormat: 'srt' }],
    [['segment', 'word'], 'verbose_json', ['word'], { granularities: ['word'] }],
    [['segment', 'word'], 'vtt', [], { responseFormat: 'vtt' }],
    [[], 'json', [], { responseFormat: 'json' }],
    [[], 'text', [], { responseFormat: 'text' }],
    [[], 'verbose_json', [], NO_TIMES],
    [[], 'verbose_json', ['word'], NO_TIMES],
    [[], 'srt', [], NO_TIMES],
    [[], 'vtt', [], NO_TIMES],
  ])('of a model with times of %j as %s, by %j', async (timestamps, format, granularities, expected) => {
    const times = granularities.map((value) => ({ name: 'timestamp_granularities[]', value }));
    const asked = transcribe(FILE, ...texts({ model: 'm', response_format: format }), ...times);
    const timed = anEarModel({ media: { capabilities: { maxMinutes: 1, timestamps } } });
    expect(await outcomeOf(asked, timed)).toMatchObject(expected);
  });

  it('in English have no language, no times by word and no stream to be asked for', async () => {
    for (const name of ['language', 'timestamp_granularities[]', 'stream', 'chunking_strategy']) {
      const param = name.replace('[]', '');
      const outcome = await outcomeOf(translate(FILE, ...texts({ model: 'm', [name]: 'en' })), model);
      expect(outcome).toEqual(refusal(param, `${param} is not supported`));
    }
    expect(await outcomeOf(translate(FILE, ...texts({ model: 'm', async: 'true' })), model)).toMatchObject({
      operation: 'audio.translations',
      granularities: ['segment'],
      isAsync: true,
    });
  });

  it('are not made of a body that is no form, which is told in words of its own', async () => {
    const read = (exchange: Exchange) =>
      outcomeOf(requests.readTranscriptRequest('audio.transcriptions', exchange, 'key_1'), model);
    expect(await read(aJsonRequest({ model: 'm' }))).toEqual({ kind: 'upload_not_form_type' });
    expect(await read(anExchange([Buffer.from('x')]))).toEqual({ kind: 'form_not_form_type' });
    expect(
      await read(anExchange([], { 'content-type': 'multipart/form-data; boundary=x', 'content-length': '26214401' })),
    ).toEqual({
      kind: 'upload_too_large',
      maxBytes: 26_214_400,
      sentBytes: 26_214_401,
    });
  });
});

describe('an empty field of a form', () => {
  const forms = {
    video: {
      shape: videoRequestSchema.shape,
      parts: texts(VIDEO),
      read: (...parts: FormPart[]) => outcomeOf(readVideo(aForm(...parts)), REQUESTED_MODELS.video),
    },
    transcription: {
      shape: transcriptionFieldsSchema.shape,
      parts: [FILE, ...texts({ model: 'm' })],
      read: (...parts: FormPart[]) => outcomeOf(transcribe(...parts), REQUESTED_MODELS['speech-to-text']),
    },
    translation: {
      shape: translationFieldsSchema.shape,
      parts: [FILE, ...texts({ model: 'm' })],
      read: (...parts: FormPart[]) => outcomeOf(translate(...parts), REQUESTED_MODELS['speech-to-text']),
    },
  };
  const cases = Object.entries(forms).flatMap(([name, { shape }]) =>
    [...Object.keys(shape), 'timestamp_granularities[]', 'chunking_strategy[type]', 'nobody'].map((field) => ({
      name,
      field,
    })),
  );

  it.each(cases)('is absence: $field of a $name', async ({ name, field }) => {
    const { parts, read } = forms[name as keyof typeof forms];
    const others = parts.filter((part) => part.name !== field);
    const withoutFile = (outcome: unknown) => ({ ...(outcome as object), file: undefined });
    expect(withoutFile(await read(...others, { name: field, value: '' }))).toEqual(withoutFile(await read(...others)));
  });
});

describe('a digest', () => {
  const digestOf = async (reading: Promise<MediaDraft<MediaRequest>>): Promise<string> => {
    const draft = await reading;
    await draft.discard();
    return draft.digest.toString('hex');
  };

  it('is the same of a call that is sent again, whatever its boundary and the order of its fields', async () => {
    const first = await digestOf(transcribe(FILE, ...texts({ model: 'm', language: 'en' })));
    expect(await digestOf(transcribe(...texts({ language: 'en', model: 'm' }), { ...FILE, fileName: 'y.mp3' }))).toBe(
      first,
    );
    expect(await digestOf(readImage({ prompt: 'a cat', model: 'm', n: null, user: 'u' }))).toBe(
      await digestOf(readImage(IMAGE)),
    );
  });

  it('is another for another field, file, image or operation', async () => {
    const digests = await Promise.all([
      digestOf(transcribe(FILE, ...texts({ model: 'm' }))),
      digestOf(transcribe({ ...FILE, value: 'RIFX' }, ...texts({ model: 'm' }))),
      digestOf(transcribe(FILE, ...texts({ model: 'm', language: 'en' }))),
      digestOf(translate(FILE, ...texts({ model: 'm' }))),
      digestOf(readImage(IMAGE)),
      digestOf(readImage({ ...IMAGE, n: 2 })),
      digestOf(readVideo(aJsonRequest(VIDEO))),
      digestOf(readVideo(aForm({ name: 'input_reference', value: PNG, fileName: 'x' }, ...texts(VIDEO)))),
      digestOf(readVideo(aJsonRequest({ ...VIDEO, input_reference: 'https://example.com/x.png' }))),
    ]);
    expect(new Set(digests).size).toBe(digests.length);
  });
});
