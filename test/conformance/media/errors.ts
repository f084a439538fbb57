import { request } from 'node:http';
import { availableParallelism } from 'node:os';
import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { until } from '@turnpike/test-support/until';
import pg from 'pg';
import { inOneMonth } from '../../support/inOneMonth.ts';
import { orderMediaBackends, whileBackendsFail, whileBackendsPause } from '../../support/mediaBackends.ts';
import { checkAnswerHead } from '../../support/openapi/watchAnswers.ts';
import { type Answer, type Client, createClient } from '../support/http.ts';
import {
  aCaller,
  anImage,
  aPrompt,
  aRecording,
  aSpeech,
  aVideo,
  aWav,
  type Caller,
  expectSpent,
  jobOf,
  made,
  pathOf,
  rendersDuring,
} from '../support/mediaCalls.ts';
import { jobTable, stack } from '../support/mediaStack.ts';
import { row } from '../support/row.ts';
import { DOC_URL, envelope, flat } from '../support/shapes.ts';
import { IMAGE_ALIAS, MODELS, PRICES, SIZE } from '../support/writeMediaCatalog.ts';

const MIB = 1_048_576;
const UPLOAD_BYTES = 25 * MIB;
/** At which as many bytes are a minute. */
const RATE = 192_000;
const SOME_ID = `${'0'.repeat(21)}A`;
const VIDEO = `/videos/video_${SOME_ID}`;
const IMAGE_JOB = `/images/jobs/job_${SOME_ID}`;
const AUDIO_JOB = `/audio/jobs/job_${SOME_ID}`;
/** Reads, lists and deletes. */
const LOOK_UPS: ['GET' | 'DELETE', string][] = [
  ['GET', '/videos'],
  ...[VIDEO, IMAGE_JOB, AUDIO_JOB].flatMap((path): ['GET' | 'DELETE', string][] => [
    ['GET', path],
    ['GET', `${path}/content`],
    ['DELETE', path],
  ]),
];
const TRANSCRIBE = '/audio/transcriptions';
const TRANSLATE = '/audio/translations';
/** A call of each operation. */
const creations = (): [string, object][] => [
  ['/images/generations', anImage()],
  ['/videos', aVideo()],
  ['/audio/speech', aSpeech()],
  [TRANSCRIBE, aRecording()],
  [TRANSLATE, aRecording()],
];

/** Asserts that each answer is the same, and what it is. */
function expectAlike(answers: Answer[], status: number, body: unknown): void {
  for (const answer of answers) expect({ status: answer.status, body: answer.body }).toEqual({ status, body });
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
}

/** Calls every media path that there is. */
async function callAll(who: Client, headers: Record<string, string> = {}): Promise<Answer[]> {
  const looked = LOOK_UPS.map(([method, path]) => who.send(method, path, { headers }));
  const created = creations().map(([path, body]) => who.post(path, body, { headers }));
  return Promise.all([...looked, ...created]);
}

const poor = () => aCaller({}, {});

row('media.401.missing', async () => {
  const nobody = createClient(stack.baseUrl);
  expectAlike(await callAll(nobody), 401, flat('missing_api_key', DOC_URL));
  expectAlike(await callAll(nobody, { authorization: 'Basic dXNlcjpwYXNz' }), 401, flat('missing_api_key', DOC_URL));
});

row('media.401.invalid', async () => {
  const mistyped = `${stack.apiKey.slice(0, -1)}${stack.apiKey.endsWith('a') ? 'b' : 'a'}`;
  const answers = [mistyped, generateApiKey()].map((key) => callAll(createClient(stack.baseUrl, key)));
  expectAlike((await Promise.all(answers)).flat(), 401, flat('invalid_api_key', DOC_URL));
});

row('media.403.blocked', async () => {
  const caller = await aCaller();
  await stack.operator.changeKey(caller.account.apiKey, 'block');
  expectAlike(await callAll(caller), 403, envelope('permission_error', 'key_blocked'));
});

row('media.403.region', async () => {
  const caller = await aCaller();
  const url = stack.running.stack.regions.us.postgres_url.replace(/\/postgres$/, '/auth');
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  try {
    await db.query(`update workspace set region = 'eu' where workspace_id = $1`, [caller.account.workspaceId]);
  } finally {
    await db.end();
  }
  expectAlike(await callAll(caller), 403, envelope('permission_error', 'region_not_served'));
});

row('media.403.model', async () => {
  const caller = await aCaller({ allowedModels: ['llama-3.3-70b-instruct'] });
  const answers = await Promise.all(creations().map(([path, body]) => caller.post(path, body)));
  for (const { status, body } of answers)
    expect([status, body]).toEqual([403, envelope('permission_error', 'model_not_allowed', { param: 'model' })]);
  const allowed = await aCaller({ allowedModels: [MODELS.image] });
  expect((await allowed.post('/images/generations', anImage({ model: IMAGE_ALIAS }))).status).toBe(200);
});

row('media.400.json', async () => {
  const caller = await aCaller();
  const bodies: [string | Buffer, Record<string, string>][] = [
    ['{', {}],
    ['', {}],
    ['[]', {}],
    ['"text"', {}],
    [Buffer.from('{"prompt":"\xff"}', 'latin1'), {}],
    [`{"prompt":${'['.repeat(65)}${']'.repeat(65)}}`, {}],
    [JSON.stringify(anImage()), { 'content-type': 'text/plain' }],
    [gzipSync(JSON.stringify(anImage())), { 'content-encoding': 'gzip' }],
  ];
  for (const path of ['/images/generations', '/videos', '/audio/speech']) {
    for (const [body, headers] of bodies) {
      const { status, body: told } = await caller.post(path, body, { headers });
      expect({ path, sent: String(body), status, told }).toEqual({
        path,
        sent: String(body),
        status: 400,
        told: flat('malformed_body'),
      });
    }
  }
});

row('media.400.form', async () => {
  const caller = await aCaller();
  const whole = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n--b--\r\n';
  const forms: [string, string][] = [
    ['multipart/form-data', whole],
    ['multipart/form-data; boundary=b', whole.slice(0, -6)],
    ['multipart/form-data; boundary=b', ''],
    ['multipart/form-data; boundary=c', whole],
    ['multipart/form-data; boundary=b', whole.replace('name="model"', '')],
  ];
  for (const path of ['/videos', TRANSCRIBE, TRANSLATE]) {
    for (const [type, body] of forms) {
      const { status, body: told } = await caller.post(path, body, { headers: { 'content-type': type } });
      expect({ path, type, body, status, told }).toEqual({
        path,
        type,
        body,
        status: 400,
        told: flat('malformed_body'),
      });
    }
  }
});

row('media.400.size', async () => {
  const caller = await aCaller();
  for (const [path, body, limit] of [
    ['/images/generations', anImage(), MIB],
    ['/audio/speech', aSpeech(), MIB],
    ['/videos', aVideo(), 20 * MIB],
  ] as const) {
    const padded = JSON.stringify(body).padEnd(limit + 1);
    expect(await caller.post(path, padded)).toMatchObject({ status: 400, body: flat('malformed_body') });
  }
});

row('media.400.content', async () => {
  const caller = await aCaller();
  const answer = await whileBackendsFail(stack, MODELS.image, 'render_refuses_prompt', () =>
    caller.post('/images/generations', anImage()),
  );
  expect(answer).toMatchObject({ status: 400, body: flat('content_refused') });
  expect(answer.headers.get('x-should-retry')).toBe('false');
  await expectSpent(caller, 0n);
});

/** 402 of what some balance cannot carry. */
const tooPoor = (limitedBy: string, fields: object = {}) =>
  flat('insufficient_balance', {
    max_usage_cost_usd: expect.any(Number),
    remaining_usd: expect.any(Number),
    key_remaining_usd: null,
    held_usd: 0,
    limited_by: limitedBy,
    ...DOC_URL,
    ...fields,
  });

row('media.402.credit', async () => {
  const caller = await poor();
  for (const [path, body] of creations()) {
    const { status, body: told, headers } = await caller.post(path, body);
    expect({ path, status, told }).toEqual({ path, status: 402, told: tooPoor('credit') });
    expect(headers.get('x-should-retry')).toBe('false');
  }
});

row('media.402.key-budget', async () => {
  const caller = await aCaller({ maxBudgetUsd: '0.0049' });
  const { status, body } = await caller.post('/images/generations', anImage({ n: 2 }));
  const told = tooPoor('key_budget', { max_usage_cost_usd: 0.005, remaining_usd: 0.0049, key_remaining_usd: 0.0049 });
  expect({ status, body }).toEqual({ status: 402, body: told });
  expect(body).toMatchObject({ message: expect.stringContaining('the budget of this key has 0.0049 USD left') });
  expect((await caller.post('/images/generations', anImage())).status).toBe(200);
});

row('media.402.key-period-budget', async () => {
  const caller = await aCaller({ periodBudget: { period: 'week', maxUsd: '0.0049' } });
  const { status, body } = await caller.post('/images/generations', anImage({ n: 2 }));
  const told = tooPoor('key_budget', { max_usage_cost_usd: 0.005, remaining_usd: 0.0049 });
  expect({ status, body }).toEqual({ status: 402, body: told });
  expect(body).toMatchObject({
    message: expect.stringMatching(
      /budget of this key for the week has 0.0049 USD left.*wait until \d{4}-\d\d-\d\dT00:00Z/,
    ),
  });
  expect((await caller.post('/images/generations', anImage())).status).toBe(200);
});

row('media.402.monthly-cap', async () => {
  const caller = await aCaller({}, { creditUsd: '10', monthlyCapUsd: '0.0049' });
  const { status, body } = await caller.post('/images/generations', anImage({ n: 2 }));
  expect({ status, body }).toEqual({ status: 402, body: tooPoor('monthly_cap', { max_usage_cost_usd: 0.005 }) });
});

row('media.402.account', async () => {
  for (const [billingStatus, error] of [
    ['on_hold', 'account_on_hold'],
    ['not_provisioned', 'billing_not_provisioned'],
  ] as const) {
    const caller = await aCaller({}, { creditUsd: '10', billingStatus });
    for (const [path, body] of creations())
      expect(await caller.post(path, body)).toMatchObject({ status: 402, body: flat(error, DOC_URL) });
  }
  const capped = await inOneMonth(async () => {
    const caller = await aCaller();
    await caller.post('/images/generations', anImage());
    await expectSpent(caller, PRICES.image);
    await stack.operator.capWorkspace(caller.account.workspaceId, 1n);
    return caller.post('/images/generations', anImage());
  });
  expect(capped).toMatchObject({ status: 402, body: flat('spend_cap_reached', DOC_URL) });
});

row('media.402.top-up', async () => {
  const caller = await poor();
  expect((await caller.post('/images/generations', anImage())).status).toBe(402);
  await stack.operator.addCredit(caller.account.workspaceId, '1');
  await until('the credit to count', async () => (await caller.post('/images/generations', anImage())).status === 200);
});

row('media.404.model', async () => {
  const caller = await aCaller();
  const models = ['no-such-model', MODELS.retired, MODELS.uncleared, MODELS.unbacked];
  const answers = models.map((model) => caller.post('/images/generations', anImage({ model })));
  const notFound = envelope('invalid_request_error', 'model_not_found', { param: 'model' });
  expectAlike(await Promise.all(answers), 404, notFound);
  for (const [path, body] of [
    ['/videos', aVideo({ model: 'no-such-model' })],
    ['/audio/speech', aSpeech({ model: 'no-such-model' })],
    [TRANSCRIBE, aRecording({ model: 'no-such-model' })],
    [TRANSLATE, aRecording({ model: 'no-such-model' })],
  ] as const)
    expect(await caller.post(path, body)).toMatchObject({ status: 404, body: notFound });
});

row('media.404.text-model', async () => {
  const caller = await aCaller();
  for (const name of [MODELS.text, `some-owner/${MODELS.text}`, `TEST/${MODELS.text}`])
    for (const [path, body] of [
      ['/images/generations', anImage({ model: name })],
      ['/videos', aVideo({ model: name })],
      ['/audio/speech', aSpeech({ model: name })],
      [TRANSCRIBE, aRecording({ model: name })],
      [TRANSLATE, aRecording({ model: name })],
    ] as const) {
      const message = expect.stringMatching(/^plain-text .*\/v1\/chat\/completions/);
      const notFound = envelope('invalid_request_error', 'model_not_found', { param: 'model', message });
      expect(await caller.post(path, body)).toMatchObject({ status: 404, body: notFound });
    }
  const other = await caller.post('/audio/speech', aSpeech({ model: MODELS.image }));
  const message = expect.stringContaining('/v1/images/generations');
  expect(other).toMatchObject({ status: 422, body: flat('invalid_request_body', { param: 'model', message }) });
});

row('media.model.names', async () => {
  const caller = await aCaller();
  for (const name of [MODELS.image, IMAGE_ALIAS, `test/${MODELS.image}`, `TEST/${MODELS.image.toUpperCase()}`])
    expect(await caller.post('/images/generations', anImage({ model: name }))).toMatchObject({ status: 200 });
  expect(await caller.post('/audio/speech', aSpeech({ model: `some-owner/${MODELS.speech}` }))).toMatchObject({
    status: 200,
  });
  const recording = aRecording({ model: `some-owner/${MODELS.transcript}` });
  expect(await caller.post(TRANSCRIBE, recording)).toMatchObject({ status: 200 });
  const byteOrderMark = `\ufeff${JSON.stringify(anImage())}`;
  expect(await caller.post('/images/generations', byteOrderMark)).toMatchObject({ status: 200 });
});

row('media.404.unsupported', async () => {
  const caller = await aCaller();
  for (const [method, path] of [
    ['POST', '/images/edits'],
    ['POST', '/images/variations'],
    ['POST', '/videos/edits'],
    ['POST', '/videos/extensions'],
    ['POST', '/videos/characters'],
    ['GET', '/videos/characters/char_1'],
    ['POST', `${VIDEO}/remix`],
  ] as const) {
    const { status, body } = await caller.send(method, path, method === 'POST' ? { body: anImage() } : {});
    const told = envelope('invalid_request_error', 'unsupported_endpoint');
    expect({ path, status, body }).toEqual({ path, status: 404, body: told });
  }
});

row('media.405', async () => {
  const caller = await aCaller();
  for (const [method, path, allowed] of [
    ['GET', '/images/generations', 'POST'],
    ['DELETE', '/videos', 'POST, GET'],
    ['POST', VIDEO, 'GET, DELETE'],
    ['DELETE', `${VIDEO}/content`, 'GET'],
    ['GET', TRANSCRIBE, 'POST'],
  ] as const) {
    const { status, headers } = await caller.send(method, path, method === 'POST' ? { body: {} } : {});
    expect({ path, status, allow: headers.get('allow')?.split(', ').sort() }).toEqual({
      path,
      status: 405,
      allow: allowed.split(', ').sort(),
    });
  }
});

interface Upload {
  /** Length of the whole form. */
  bytes: number;
  isAnnounced: boolean;
  /** Whether it is sent, whatever comes meanwhile; else only its beginning. */
  isSent: boolean;
}

/** Uploads a recording as a client does that reads the answer while it sends. Gives its status and what it says. */
function upload(caller: Caller, { bytes, isAnnounced, isSent }: Upload): Promise<{ status: number; body: unknown }> {
  const head = [
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n',
    `${MODELS.transcript}\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="speech.wav"\r\n\r\n`,
  ].join('');
  const tail = '\r\n--b--\r\n';
  const room = bytes - head.length - tail.length;
  const recording = aWav({ seconds: (room - 46) / 2 / RATE, rate: RATE });
  const file = Buffer.concat([recording, Buffer.alloc(room - recording.length)]);
  const form = Buffer.concat([Buffer.from(head), file, Buffer.from(tail)]);
  expect(form.length).toBe(bytes);
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${caller.account.apiKey}`,
      'content-type': 'multipart/form-data; boundary=b',
      ...(isAnnounced ? { 'content-length': bytes } : { 'transfer-encoding': 'chunked' }),
    };
    const sending = request(`${stack.baseUrl}${TRANSCRIBE}`, { method: 'POST', headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      const answered = new Headers(
        Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]),
      );
      checkAnswerHead({ method: 'POST', path: `/v1${TRANSCRIBE}`, status, headers: answered });
      answer.setEncoding('utf8');
      let text = '';
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => {
        resolve({ status, body: JSON.parse(text) });
        sending.destroy();
      });
    });
    // The connection closes on what is still sent; only then nobody has answered.
    sending.on('error', (error) => setTimeout(() => reject(error), 2_000));
    if (isSent) sending.end(form);
    else sending.write(form.subarray(0, 65_536));
  });
}

row('media.413.before', async () => {
  const caller = await aCaller();
  const told = await upload(caller, { bytes: UPLOAD_BYTES + 1, isAnnounced: true, isSent: false });
  expect(told).toEqual({ status: 413, body: flat('file_too_large', { max_size_mb: 25 }) });
});

row('media.413.after', async () => {
  const caller = await aCaller();
  const told = await upload(caller, { bytes: UPLOAD_BYTES + 1, isAnnounced: false, isSent: true });
  expect(told).toEqual({ status: 413, body: { error: 'file_too_large', max_size_mb: 25 } });
});

row('media.413.edge', async () => {
  const caller = await aCaller();
  for (const isAnnounced of [true, false]) {
    const told = await upload(caller, { bytes: UPLOAD_BYTES, isAnnounced, isSent: true });
    expect(told).toMatchObject({ status: 200, body: { text: expect.any(String) } });
  }
});

/** Asserts the 422 of a field. */
async function expectInvalid(caller: Caller, path: string, body: object, param: string): Promise<string> {
  const { status, body: told } = await caller.post(path, body);
  const sent = body instanceof FormData ? [...body.keys()] : body;
  expect({ path, sent, status, told }).toEqual({
    path,
    sent,
    status: 422,
    told: flat('invalid_request_body', { param }),
  });
  return (told as { message: string }).message;
}

row('media.422.fields', async () => {
  const caller = await aCaller();
  const wrong: [string, object, string][] = [
    ['/images/generations', { prompt: 'x' }, 'model'],
    ['/images/generations', { model: MODELS.image }, 'prompt'],
    ['/images/generations', anImage({ prompt: '' }), 'prompt'],
    ['/images/generations', anImage({ prompt: 'x'.repeat(4_001) }), 'prompt'],
    ['/images/generations', anImage({ n: 0 }), 'n'],
    ['/images/generations', anImage({ n: 11 }), 'n'],
    ['/images/generations', anImage({ n: '2' }), 'n'],
    ['/images/generations', anImage({ size: 'large' }), 'size'],
    ['/images/generations', anImage({ response_format: 'file' }), 'response_format'],
    ['/images/generations', anImage({ partial_images: 2 }), 'partial_images'],
    ['/images/generations', anImage({ async: true, stream: true }), 'stream'],
    ['/videos', aVideo({ prompt: 7 }), 'prompt'],
    ['/videos', aVideo({ seconds: '1.5' }), 'seconds'],
    ['/videos', aVideo({ seconds: -1 }), 'seconds'],
    ['/videos', aVideo({ seconds: '01' }), 'seconds'],
    ['/videos', aVideo({ input_reference: 'data:image/png;base64,AAAA' }), 'input_reference'],
    ['/audio/speech', aSpeech({ input: ' ' }), 'input'],
    ['/audio/speech', aSpeech({ input: 'x'.repeat(4_097) }), 'input'],
    ['/audio/speech', aSpeech({ input: 'half \ud83c' }), 'input'],
    ['/audio/speech', aSpeech({ voice: null }), 'voice'],
    ['/audio/speech', aSpeech({ speed: 4.1 }), 'speed'],
    ['/audio/speech', aSpeech({ stream_format: 'file' }), 'stream_format'],
    [TRANSCRIBE, aRecording({}, Buffer.alloc(0)), 'file'],
    [TRANSCRIBE, aRecording({ file: 'text' }), 'file'],
    [TRANSCRIBE, aRecording({ language: 'English' }), 'language'],
    [TRANSCRIBE, aRecording({ temperature: '2' }), 'temperature'],
    [TRANSCRIBE, aRecording({ response_format: 'diarized_json' }), 'response_format'],
    [TRANSCRIBE, aRecording({ 'timestamp_granularities[]': 'word' }), 'timestamp_granularities[]'],
    [TRANSCRIBE, aRecording({ chunking_strategy: 'server_vad' }), 'chunking_strategy'],
    [TRANSLATE, aRecording({ language: 'de' }), 'language'],
  ];
  for (const [path, body, param] of wrong) await expectInvalid(caller, path, body, param);
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=01', 'limit'],
    ['order=newest', 'order'],
    ['after=%00', 'after'],
  ]) {
    expect(await caller.get(`/videos?${query}`)).toMatchObject({
      status: 422,
      body: flat('invalid_request_body', { param }),
    });
  }
});

row('media.422.unknown', async () => {
  const caller = await aCaller();
  const orders = ['lora', 'extra_params', 'num_inference_steps', 'seed', 'negative_prompt', 'url', 'output_path'];
  for (const name of orders) await expectInvalid(caller, '/images/generations', anImage({ [name]: 1 }), name);
  expect((await caller.post('/images/generations', anImage({ lora: null, x: null }))).status).toBe(200);
  for (const name of ['num_frames', 'fps', 'video_reference', 'async'])
    await expectInvalid(caller, '/videos', aVideo({ [name]: 8 }), name);
  for (const name of ['ref_audio', 'stream', '__proto__'])
    await expectInvalid(
      caller,
      '/audio/speech',
      JSON.parse(`{"${name}":1,${JSON.stringify(aSpeech()).slice(1)}`),
      name,
    );
  for (const name of ['vllm_xargs', 'n', 'use_beam_search']) {
    await expectInvalid(caller, TRANSCRIBE, aRecording({ [name]: '1' }), name);
    await expectInvalid(caller, TRANSLATE, aRecording({ [name]: '1' }), name);
  }
});

row('media.422.allowed', async () => {
  const caller = await aCaller();
  const wrong: [string, object, string, string[]][] = [
    ['/images/generations', anImage({ size: '128x128' }), 'size', [SIZE, '96x64']],
    ['/images/generations', anImage({ n: 5 }), 'n', ['4']],
    ['/videos', aVideo({ seconds: '3' }), 'seconds', ['1', '2']],
    ['/videos', aVideo({ size: '96x64' }), 'size', [SIZE]],
    ['/audio/speech', aSpeech({ voice: 'nova' }), 'voice', ['ada', 'bob']],
    [TRANSCRIBE, aRecording({ language: 'fr' }), 'language', ['de', 'en', 'jw', 'yue']],
  ];
  for (const [path, body, param, allowed] of wrong) {
    const message = await expectInvalid(caller, path, body, param);
    for (const value of allowed) expect(message).toContain(value);
  }
});

row('media.422.model', async () => {
  const caller = await aCaller();
  await expectInvalid(caller, '/images/generations', anImage({ model: MODELS.video }), 'model');
  await expectInvalid(caller, '/videos', aVideo({ model: MODELS.image }), 'model');
  await expectInvalid(caller, '/audio/speech', aSpeech({ model: MODELS.transcript }), 'model');
  await expectInvalid(caller, TRANSCRIBE, aRecording({ model: MODELS.speech }), 'model');
});

row('media.422.content-type', async () => {
  const caller = await aCaller();
  for (const path of [TRANSCRIBE, TRANSLATE]) {
    for (const [type, body] of [
      ['application/json', '{}'],
      ['audio/wav', aWav()],
    ] as const) {
      const { status, body: told } = await caller.post(path, body, { headers: { 'content-type': type } });
      const noForm = { ...flat('invalid_request_body'), detail: expect.stringMatching(/./) };
      expect({ path, type, status, told }).toEqual({ path, type, status: 422, told: noForm });
    }
  }
});

row('media.422.recording', async () => {
  const caller = await aCaller();
  const playlist = Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n');
  const longer = aWav({ seconds: 121, rate: 8_000 });
  for (const file of [Buffer.from('no recording'), playlist, aWav().subarray(0, 30), longer])
    await expectInvalid(caller, TRANSCRIBE, aRecording({}, file), 'file');
});

row('media.429.rpm', async () => {
  const caller = await aCaller({ rpm: 1 });
  expect((await caller.post('/images/generations', anImage())).status).toBe(200);
  const rendered = await rendersDuring(async () => {
    for (const [path, body] of creations()) {
      const { status, body: told, headers } = await caller.post(path, body);
      expect({ path, status, told }).toEqual({ path, status: 429, told: flat('rate_limit_exceeded', DOC_URL) });
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      const sentence = `1 requests per minute for this key. Retry in ${headers.get('retry-after')} s.`;
      expect(told).toMatchObject({ message: expect.stringContaining(sentence) });
      expect(headers.get('x-ratelimit-limit-requests')).toBe('1');
      expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+(\.\d+)?s$/);
    }
  });
  expect(rendered).toBe(0);
});

row('media.429.look-ups-apart', async () => {
  const caller = await aCaller({ rpm: 2 });
  const job = await made(caller, '/videos', aVideo());
  for (let look = 0; look < 5; look += 1) {
    expect((await caller.get(pathOf(job))).status).toBe(200);
    expect((await caller.get(`${pathOf(job)}/content`)).status).toBe(200);
    expect((await caller.get('/videos')).status).toBe(200);
  }
  expect((await caller.send('DELETE', pathOf(job))).status).toBe(200);
  expect((await caller.post('/videos', aVideo())).status).toBe(200);
  expect((await caller.post('/videos', aVideo())).status).toBe(429);
});

row('media.429.look-ups', async () => {
  const caller = await aCaller();
  const taken: Answer[] = [];
  // Thirty a second, and at first twice as many: a slow machine has to send more until one is refused.
  const refused = await until('look-ups to be refused', async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, () => caller.get('/videos?limit=1')));
    taken.push(...answers.filter(({ status }) => status === 200));
    const others = answers.filter(({ status }) => status !== 200);
    return others.length > 0 && others;
  });
  expect(taken.length).toBeGreaterThanOrEqual(60);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]));
  for (const { body, headers } of refused) {
    expect(body).toEqual(flat('rate_limit_exceeded', DOC_URL));
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
});

row('media.429.repeats', async () => {
  const asked: [string, object][] = [
    ['/images/generations', anImage()],
    ['/images/generations', anImage({ async: true })],
    ['/videos', aVideo()],
    ['/audio/speech', aSpeech({ async: true })],
    ['/audio/speech', aSpeech()],
    [TRANSCRIBE, aRecording({ async: 'true' })],
    [TRANSCRIBE, aRecording()],
  ];
  for (const [path, body] of asked) {
    const caller = await aCaller({ rpm: 1 });
    const first = await caller.post(path, body);
    expect([200, 202]).toContain(first.status);
    const startedMs = performance.now();
    const repeat = () => caller.post(path, body, { headers: { 'x-stainless-retry-count': '1' } });
    // Uploads of one key that wait at once share 64 MiB of memory.
    const wave = () => Promise.all(Array.from({ length: 50 }, repeat));
    const answers = [...(await wave()), ...(await wave())];
    const refused = answers.filter(({ status }) => status === 429);
    // Thirty a second, and at first twice as many: on a slow machine all of them pass.
    const most = 60 + 30 * Math.ceil((performance.now() - startedMs) / 1_000);
    const taken = answers.filter(({ status }) => status === first.status);
    for (const { status } of answers) expect([first.status, 429]).toContain(status);
    expect(taken.length).toBeLessThanOrEqual(most);
    expect(taken.length).toBeGreaterThanOrEqual(Math.min(60, answers.length));
    const isAnswer = path.startsWith('/audio') && first.status === 200;
    for (const { bytes } of isAnswer ? taken : []) expect(bytes.equals(first.bytes)).toBe(true);
    for (const { body: told, headers } of refused) {
      expect(told).toEqual(flat('rate_limit_exceeded', DOC_URL));
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
  }
});

row('media.429.cancelled', async () => {
  const caller = await aCaller();
  const begin = (): Promise<Answer> => caller.post('/videos', aVideo());
  const refused = await whileBackendsPause(stack, MODELS.video, async () => {
    // Half an hour of engines; jobs that have not begun are cancelled for nothing.
    for (let round = 0; round < 20; round += 1) {
      const begun = await Promise.all(Array.from({ length: 8 }, begin));
      const jobs = begun.filter(({ status }) => status === 200).map(jobOf);
      await Promise.all(jobs.map((job) => caller.get(pathOf(job), { headers: { prefer: 'wait=1' } })));
      const ids = jobs.map(({ id }) => id);
      // Lets those that have begun look five minutes older.
      await jobTable.query(`UPDATE job SET sent_at = sent_at - INTERVAL '5 minutes' WHERE job_id = ANY($1)`, [ids]);
      const cancelled = await Promise.all(jobs.map((job) => caller.send('DELETE', pathOf(job))));
      for (const { status } of cancelled) expect(status).toBe(200);
      const last = begun.find(({ status }) => status === 429);
      if (last) return last;
    }
    throw new Error('every job was begun');
  });
  expect(refused.body).toEqual(flat('rate_limit_exceeded', DOC_URL));
  const seconds = refused.headers.get('retry-after');
  expect(seconds).toMatch(/^[1-9]\d*$/);
  const sentence = new RegExp(`Limit reached: 30 minutes of engines.*Retry in ${seconds} s\\.`);
  expect(refused.body).toMatchObject({ message: expect.stringMatching(sentence) });
  await expectSpent(caller, 0n);
});

row('media.500.pricing', async () => {
  const caller = await aCaller();
  const rendered = await rendersDuring(async () => {
    for (const fields of [{}, { async: true }]) {
      const { status, body } = await caller.post(
        '/images/generations',
        anImage({ model: MODELS.priceless, ...fields }),
      );
      expect({ status, body }).toEqual({ status: 500, body: flat('pricing_unavailable') });
    }
  });
  expect(rendered).toBe(0);
  await expectSpent(caller, 0n);
});

/** Calls until a backend takes it: they may be busy with an earlier row, or out for a check that came late. */
const untilTaken = (caller: Caller, path: string, body: object): Promise<Answer> =>
  until('a backend to take the call', async () => {
    const tried = await caller.post(path, body);
    return tried.status === 503 ? undefined : tried;
  });

row('media.500.engine', async () => {
  const caller = await aCaller();
  for (const [model, fault, path, body] of [
    [MODELS.image, 'render_fails_with_prompt', '/images/generations', anImage()],
    [MODELS.speech, { fault: 'refuse_500', route: 'POST /v1/audio/speech' }, '/audio/speech', aSpeech()],
    [MODELS.transcript, { fault: 'refuse_500', route: 'POST /v1/audio/transcriptions' }, TRANSCRIBE, aRecording()],
  ] as const) {
    const answer = await whileBackendsFail(stack, model, fault, () => untilTaken(caller, path, body));
    expect(answer).toMatchObject({ status: 500, body: flat('generation_failed') });
    expect(answer.headers.get('x-should-retry')).toBe('false');
  }
  await expectSpent(caller, 0n);
});

/** Lists what an operator of media has to look at. */
async function listMediaWarnings(): Promise<string[]> {
  const url = stack.running.stack.regions.us.services['media-jobs'].internal_url;
  const { warnings = [] } = (await (await fetch(`${url}/ready`)).json()) as { warnings?: string[] };
  return warnings;
}

row('media.503.backend', async () => {
  const caller = await aCaller();
  for (const [model, path, body] of [
    [MODELS.awaySpeech, '/audio/speech', aSpeech({ model: MODELS.awaySpeech })],
    [MODELS.awayImage, '/images/generations', anImage({ model: MODELS.awayImage })],
  ] as const) {
    const made = await caller.post(path, body);
    expect(made.status).toBe(200);
    await orderMediaBackends(stack, 'port', { model, body: { port: 'closed' } });
    // From when on nothing is tried.
    await until('both backends to be known as away', async () =>
      (await listMediaWarnings()).includes(`none of 2 backends of ${model} takes work`),
    );
    // A retry gets what was made before.
    const again = await caller.post(path, body, { headers: { 'x-stainless-retry-count': '1' } });
    expect({ status: again.status, isSame: again.bytes.equals(made.bytes) }).toEqual({ status: 200, isSame: true });
    const answer = await caller.post(path, body);
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual(flat('backend_unavailable'));
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  await expectSpent(caller, BigInt(aSpeech().input.length) * PRICES.character + PRICES.image);
});

row('media.503.disabled', async () => {
  const { status, body, headers } = await (await aCaller()).post(
    '/images/generations',
    anImage({ model: MODELS.disabled }),
  );
  expect({ status, body }).toEqual({ status: 503, body: flat('model_deactivated') });
  expect(headers.get('x-should-retry')).toBe('false');
});

row('media.503.transcode', async () => {
  const caller = await aCaller();
  // One is decoded at a time by each processor but one, and twice as many wait.
  const more = 3 * availableParallelism() + 12;
  const answers = await Promise.all(Array.from({ length: more }, () => caller.post(TRANSCRIBE, aRecording())));
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(more - refused.length);
  for (const { body, headers } of refused) {
    expect(body).toEqual(flat('transcode_overloaded'));
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
});

row('media.gates.401-first', async () => {
  const stranger = createClient(stack.baseUrl, generateApiKey());
  for (const path of ['/images/generations', '/videos', '/audio/speech', TRANSCRIBE])
    expect((await stranger.post(path, '{')).status).toBe(401);
  const account = { ...(await aCaller()).account, apiKey: generateApiKey() };
  const unread: Upload = { bytes: UPLOAD_BYTES + 1, isAnnounced: true, isSent: false };
  expect((await upload({ ...stranger, account }, unread)).status).toBe(401);
});

row('media.gates.402-before-upload', async () => {
  const caller = await poor();
  // Whose balances are known from then on: of those that nobody has asked for yet, only the admission decides.
  expect((await caller.post('/images/generations', anImage())).status).toBe(402);
  const unread: Upload = { bytes: MIB, isAnnounced: true, isSent: false };
  expect(await upload(caller, unread)).toMatchObject({ status: 402, body: { error: 'insufficient_balance' } });
});

row('media.gates.422-before-404', async () => {
  await expectInvalid(await aCaller(), '/images/generations', anImage({ model: 'no-such-model', n: 0 }), 'n');
});

row('media.gates.404-before-402', async () => {
  expect((await (await poor()).post('/images/generations', anImage({ model: 'no-such-model' }))).status).toBe(404);
});

row('media.gates.429-before-402', async () => {
  const caller = await aCaller({ rpm: 1 }, { creditUsd: '0.0025' });
  expect((await caller.post('/images/generations', anImage())).status).toBe(200);
  expect((await caller.post('/images/generations', anImage())).status).toBe(429);
});

row('media.gates.nothing-ran', async () => {
  const caller = await aCaller({ rpm: 1 });
  const rendered = await rendersDuring(async () => {
    const refused = [
      await caller.post('/images/generations', anImage({ n: 0 })),
      await caller.post('/images/generations', anImage({ model: 'no-such-model' })),
      await caller.post('/images/generations', anImage({ model: MODELS.disabled })),
      await caller.post('/images/generations', anImage({ model: MODELS.priceless })),
      await caller.post('/videos', '{'),
      await caller.post('/audio/speech', aSpeech({ voice: 'nobody' })),
      await caller.post(TRANSCRIBE, aRecording({ language: 'xx' })),
      await caller.post(TRANSCRIBE, aRecording({}, Buffer.from('no recording'))),
      await (await poor()).post('/videos', aVideo()),
      await (await poor()).post('/images/generations', anImage({ async: true })),
    ];
    expect(refused.map(({ status }) => status)).toEqual([422, 404, 503, 500, 400, 422, 422, 422, 402, 402]);
  });
  expect(rendered).toBe(0);
  expect((await caller.post('/images/generations', anImage())).status).toBe(200);
  await expectSpent(caller, PRICES.image);
});

row('media.headers', async () => {
  const caller = await aCaller();
  const admitted = await Promise.all(creations().map(([path, body]) => untilTaken(caller, path, body)));
  for (const { status, headers } of admitted) {
    expect(status).toBe(200);
    for (const limited of ['requests', 'tokens'])
      for (const what of ['limit', 'remaining', 'reset'])
        expect(headers.has(`x-ratelimit-${what}-${limited}`)).toBe(true);
  }
  const refused = [
    await caller.post('/images/generations', anImage({ n: 0 })),
    await caller.get(VIDEO),
    await createClient(stack.baseUrl).get('/videos'),
  ];
  for (const { headers } of refused) expect(headers.has('x-ratelimit-limit-requests')).toBe(false);
  for (const { headers } of [...admitted, ...refused, await caller.get('/videos')]) {
    expect(headers.get('x-request-id')).toMatch(/./);
    expect(headers.has('x-router-call-id')).toBe(false);
  }
});

row('media.no-record', async () => {
  const caller = await aCaller();
  const job = await made(caller, '/images/generations', anImage({ async: true }));
  const { status, body } = await caller.get(`/svc/usage/request/${job.id}`);
  expect({ status, body }).toEqual({ status: 404, body: flat('usage_not_found') });
});

row('media.no-leak', async () => {
  const caller = await aCaller();
  const secret = aPrompt();
  const failing = { prompt: secret };
  const answers = [
    await caller.post('/images/generations', `{"${secret}`),
    await caller.post('/images/generations', anImage({ ...failing, n: 99 })),
    await caller.post('/images/generations', anImage({ ...failing, model: MODELS.priceless })),
    await (await poor()).post('/images/generations', anImage(failing)),
    await createClient(stack.baseUrl, generateApiKey()).post('/videos', aVideo(failing)),
  ];
  for (const fault of ['render_fails_with_prompt', 'html_with_200', 'refuse_500', 'output_html'])
    answers.push(
      await whileBackendsFail(stack, MODELS.image, fault, () => caller.post('/images/generations', anImage(failing))),
    );
  const failed = await whileBackendsFail(stack, MODELS.video, 'render_fails_with_prompt', async () => {
    const job = jobOf(await caller.post('/videos', aVideo(failing)));
    return until('the job to fail', async () => {
      const seen = await caller.get(pathOf(job), { headers: { prefer: 'wait=5' } });
      return jobOf(seen).status === 'failed' ? seen : undefined;
    });
  });
  const shown = [...answers.map(({ text }) => text), JSON.stringify(jobOf(failed).error)];
  for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400);
  for (const text of shown) {
    for (const leak of [secret, stack.apiKey, caller.account.apiKey, '127.0.0.1', 'node_modules', '.ts:', 'media-1/'])
      expect(text).not.toContain(leak);
    expect(text).not.toMatch(/ {4}at /);
  }
});
