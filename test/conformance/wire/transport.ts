import { crc32, gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import type { Answer } from '../support/http.ts';
import { aRawRequest, type RawAnswer, sendRaw } from '../support/rawHttp.ts';
import { row } from '../support/row.ts';
import { invalid, withoutCode } from '../support/shapes.ts';
import { client, FLOOD_BURST, LISTS_PER_MINUTE, stack } from '../support/wireStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const MIB = 1_048_576;
/** Statuses that chat must never answer, as they are those of other families or of a proxy. */
const NEVER_OF_CHAT = [408, 413, 415, 502, 504];
/** Signature and first chunk. */
const PNG_HEADER_BYTES = 33;

const aChat = (fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: 'hi [[sim: tokens=2]]' }],
  ...fields,
});
const raw = (method: string, target: string, headers: Record<string, string> = {}): Promise<RawAnswer> =>
  sendRaw(stack.baseUrl, aRawRequest(method, target, { authorization: `Bearer ${stack.apiKey}`, ...headers }));

/** Asserts the 400 of a body that cannot be read. */
function expectUnreadable({ status, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 400, body: invalid(null) });
}

row('paths.unsupported', async () => {
  for (const [method, path] of [
    ['POST', '/fine-tuning'],
    ['POST', '/fine-tuning/jobs'],
    ['GET', '/assistants'],
    ['POST', '/threads'],
    ['POST', '/threads/t1/messages'],
    ['GET', '/runs'],
    ['POST', '/batches'],
    ['GET', '/files'],
    ['GET', '/files/file-1/content'],
    ['GET', '/responses/resp_1'],
    ['POST', '/responses/resp_1/cancel'],
    ['POST', '/responses/input_tokens'],
    ['POST', '/uploads'],
    ['GET', '/vector_stores'],
    ['POST', '/moderations'],
    ['POST', '/rerank'],
    ['GET', '/realtime'],
  ] as const) {
    const { status, body } = await raw(method, `/v1${path}`);
    const error = { type: 'invalid_request_error', code: 'unsupported_endpoint' };
    expect({ path, status, body: JSON.parse(body) }).toMatchObject({ path, status: 404, body: { error } });
  }
});

row('paths.unknown', async () => {
  for (const path of ['/no-such-path', '/chat', '/chat/completions/x', '/svc/nothing', '/responses-of-mine']) {
    expect(await client.get(path)).toMatchObject({ status: 404, body: { error: { message: expect.any(String) } } });
  }
});

row('paths.nearest', async () => {
  for (const [path, nearest] of [
    ['/chat/completions', '/v1/chat/completions'],
    ['/v1/v1/models', '/v1/models'],
    ['/api/v1/embeddings', '/v1/embeddings'],
    ['/v1/models/', '/v1/models'],
    ['/v1/chat/completion', '/v1/chat/completions'],
    ['/v1/audio/voices', undefined],
    ['/', undefined],
  ] as const) {
    const { status, body } = await raw('GET', path);
    const { message } = (JSON.parse(body) as { error: { message: string } }).error;
    expect({ path, status, message }).toEqual({ path, status: 404, message: expect.stringContaining(` ${path}.`) });
    expect(/Did you mean (\S+)\?/.exec(message)?.[1]).toBe(nearest);
  }
  for (const path of [`/v1/models-${stack.apiKey}`, `/v1/${'a'.repeat(200)}`, '/v1/<b>'])
    expect((await raw('GET', path)).body).not.toContain(path.slice(4));
});

row('paths.only-v1', async () => {
  for (const target of ['/', '/v2/models', '/index.html', '/models', '/v1']) {
    expect({ target, status: (await raw('GET', target)).status }).toEqual({ target, status: 404 });
  }
});

row('paths.wrong-method', async () => {
  for (const [method, path, allow] of [
    ['GET', '/v1/chat/completions', 'POST'],
    ['PUT', '/v1/completions', 'POST'],
    ['DELETE', '/v1/embeddings', 'POST'],
    ['POST', '/v1/models', 'GET'],
    ['POST', '/v1/svc/key', 'GET'],
    ['POST', '/v1/svc/usage', 'GET'],
  ] as const) {
    const { status, headers } = await raw(method, path);
    expect({ path, status, allow: headers.get('allow') }).toEqual({ path, status: 405, allow });
  }
});

row('paths.not-repaired', async () => {
  for (const target of [
    '//v1/models',
    '/v1//models',
    '/v1/models/',
    '/v1/./models',
    '/v1/x/../models',
    '/v1/%6dodels',
    '/v1%2fmodels',
    '/V1/models',
    '/v1/Models',
    '/v1/models;x=1',
    '/v1\\models',
    '/v1/models%00',
    '/v1/models/..%2fkey',
    '/v1/models/%2e%2e',
    '/v1/svc/../models',
  ]) {
    expect({ target, status: (await raw('GET', target)).status }).toEqual({ target, status: 404 });
  }
});

row('paths.absolute-and-strange', async () => {
  for (const target of ['*', 'v1/models', 'http://other/v1/models', '?']) {
    const { status, headers } = await raw('GET', target);
    expect({ target, isRefused: [400, 404].includes(status) }).toEqual({ target, isRefused: true });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  }
});

row('paths.query', async () => {
  expect((await client.get('/models?after=x')).status).toBe(200);
  expect((await client.get('/svc/key?x=%2e%2e')).status).toBe(200);
});

row('paths.internal', async () => {
  for (const target of [
    '/internal/keys/verify',
    '/internal/catalog',
    '/health',
    '/ready',
    '/metrics',
    '/v1/internal/catalog',
  ]) {
    expect({ target, status: (await raw('GET', target)).status }).toEqual({ target, status: 404 });
  }
});

row('bodies.not-json', async () => {
  for (const text of ['{"model":', 'model=x', '{"model": "x",}', '{} {}', "{'model': 'x'}", 'NaN']) {
    expectUnreadable(await client.post('/chat/completions', text));
  }
});

row('bodies.not-an-object', async () => {
  for (const text of ['[]', '7', '"text"', 'null', 'true'])
    expectUnreadable(await client.post('/chat/completions', text));
});

row('bodies.content-type', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const headers = { 'content-type': type };
    expectUnreadable(await client.post('/chat/completions', JSON.stringify(aChat()), { headers }));
  }
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  expect((await client.post('/chat/completions', JSON.stringify(aChat()), { headers })).status).toBe(200);
});

row('bodies.empty', async () => {
  for (const path of ['/chat/completions', '/completions', '/embeddings'])
    expectUnreadable(await client.post(path, ''));
});

row('bodies.20-mib', async () => {
  expectUnreadable(await client.post('/chat/completions', aChat({ metadata: 'x'.repeat(20 * MIB) })));
});

row('bodies.8-mib', async () => {
  const filling = 'x'.repeat(8 * MIB);
  expectUnreadable(await client.post('/completions', { model: MODEL, prompt: 'hi', metadata: filling }));
  expectUnreadable(await client.post('/embeddings', { model: 'bge-m3', input: 'hi', metadata: filling }));
});

/** A picture of one pixel that takes this many bytes more: they stand in a chunk of the file that nobody has to read. */
function padPng(bytes: number): Buffer {
  const picture = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const content = Buffer.concat([Buffer.from('fiLl'), Buffer.alloc(bytes)]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(bytes);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([
    picture.subarray(0, PNG_HEADER_BYTES),
    length,
    content,
    checksum,
    picture.subarray(PNG_HEADER_BYTES),
  ]);
}

row('bodies.4-mib-text', async () => {
  expectUnreadable(await client.post('/chat/completions', aChat({ metadata: 'x'.repeat(4 * MIB) })));
  const png = padPng(5 * MIB);
  const url = `data:image/png;base64,${png.toString('base64')}`;
  const content = [
    { type: 'text', text: '[[sim: tokens=2]]' },
    { type: 'image_url', image_url: { url } },
  ];
  const answer = await client.post('/chat/completions', { model: VISION_MODEL, messages: [{ role: 'user', content }] });
  expect(answer.status).toBe(200);
});

row('bodies.100000-values', async () => {
  const values = Array.from({ length: 100_001 }, () => 0);
  expectUnreadable(await client.post('/chat/completions', aChat({ metadata: values })));
});

row('bodies.depth', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const withDepth = (levels: number) => `${JSON.stringify(aChat()).slice(0, -1)},"metadata":${nested(levels - 1)}}`;
  expectUnreadable(await client.post('/chat/completions', withDepth(65)));
  expect((await client.post('/chat/completions', withDepth(64))).status).toBe(200);
});

row('bodies.compressed', async () => {
  const body = gzipSync(JSON.stringify(aChat()));
  for (const coding of ['gzip', 'br', 'deflate', 'zstd']) {
    expectUnreadable(await client.post('/chat/completions', body, { headers: { 'content-encoding': coding } }));
  }
});

row('bodies.not-utf8', async () => {
  const [before, after] = JSON.stringify(aChat()).split('hi ');
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    const body = Buffer.concat([Buffer.from(before ?? ''), Buffer.from(bytes), Buffer.from(after ?? '')]);
    expectUnreadable(await client.post('/chat/completions', body));
  }
});

row('bodies.chat-statuses', async () => {
  const answers = await Promise.all([
    client.post('/chat/completions', aChat({ metadata: 'x'.repeat(21 * MIB) })),
    client.post('/chat/completions', aChat(), { headers: { 'content-type': 'application/xml' } }),
    client.post('/chat/completions', gzipSync('{}'), { headers: { 'content-encoding': 'gzip' } }),
    client.post(
      '/chat/completions',
      aChat({ messages: [{ role: 'user', content: '[[sim: fault=reset_before_headers]]' }] }),
    ),
    client.post('/chat/completions', aChat({ messages: [{ role: 'user', content: '[[sim: fault=http_500_html]]' }] })),
    client.post('/chat/completions', ''),
  ]);
  expect(answers.map(({ status }) => status).filter((status) => NEVER_OF_CHAT.includes(status))).toEqual([]);
});

row('bodies.unicode', async () => {
  const said = 'À bientôt 天気 😀 👩‍👩‍👧‍👦 \u2028 ﷽';
  const { body } = await client.post('/completions', {
    model: MODEL,
    prompt: `[[sim: text="${said}"]]`,
    max_tokens: 500,
  });
  expect(body).toMatchObject({ choices: [{ text: said }] });
});

/** Sends a request again and again from one source IP until it is refused, and gives the refusal. */
async function until429(localAddress: string, request: string, most: number): Promise<RawAnswer> {
  const atOnce = 50;
  for (let sent = 0; sent < most; sent += atOnce) {
    const answers = await Promise.all(
      Array.from({ length: atOnce }, () => sendRaw(stack.baseUrl, request, { localAddress })),
    );
    const refused = answers.find(({ status }) => status === 429);
    if (refused) return refused;
  }
  throw new Error(`${most} requests from one address, and none was refused`);
}
const rateLimitHeadersOf = ({ headers }: RawAnswer) =>
  [...headers.keys()].filter((name) => name.startsWith('x-ratelimit') || name === 'retry-after');

row('errors.429.models', async () => {
  const list = aRawRequest('GET', '/v1/models', { authorization: `Bearer ${stack.apiKey}` });
  const refused = await until429('127.0.0.81', list, 3 * LISTS_PER_MINUTE);
  expect(JSON.parse(refused.body)).toEqual(withoutCode('rate_limit'));
  expect(rateLimitHeadersOf(refused).filter((name) => name !== 'retry-after')).toEqual([]);
  expect((await sendRaw(stack.baseUrl, list, { localAddress: '127.0.0.82' })).status).toBe(200);
  const key = aRawRequest('GET', '/v1/svc/key', { authorization: `Bearer ${stack.apiKey}` });
  expect((await sendRaw(stack.baseUrl, key, { localAddress: '127.0.0.81' })).status).toBe(200);
});

const anyRequest = aRawRequest('GET', '/v1/no-such-path');

row('errors.429.flood', async () => {
  const refused = await until429('127.0.0.91', anyRequest, 3 * FLOOD_BURST);
  expect(refused.headers.get('x-ratelimit-reset')).toMatch(/^\d+$/);
  expect(rateLimitHeadersOf(refused)).toEqual(['x-ratelimit-reset']);
});

row('errors.429.flood.per-ip', async () => {
  await until429('127.0.0.92', anyRequest, 3 * FLOOD_BURST);
  expect((await sendRaw(stack.baseUrl, anyRequest, { localAddress: '127.0.0.93' })).status).toBe(404);
});
