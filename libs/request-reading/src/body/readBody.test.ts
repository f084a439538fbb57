import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { ApiError } from '@turnpike/public-api/apiError';
import { invalid } from '@turnpike/public-api/wireError';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import type { BodyFault } from '../faults/bodyFault.ts';
import { createBodyMemory } from '../shares/bodyMemory.ts';
import { type BodyLimits, readBody } from './readBody.ts';

const LIMITS = { maxBytes: 1_000_000, maxTextBytes: 240_000 };
/** For a body that never ends. */
const LIMITS_BY_PATH: Record<string, BodyLimits> = {
  '/impatient': { ...LIMITS, silenceMs: 50 },
  '/for-a-moment': { ...LIMITS, wholeMs: 200 },
};
const JSON_TYPE = { 'content-type': 'application/json' };

/** The last thing `readBody` did: the value it gave or the fault it threw. */
let outcome: PromiseWithResolvers<unknown>;
/** Room for the bodies of all calls. */
const memory = createBodyMemory(20 * LIMITS.maxBytes);
/** The request that was read last. */
let received: IncomingMessage;
let server: HttpStandIn;
let url: string;
beforeAll(async () => {
  server = await serveHttp(async (req, res) => {
    received = req;
    if (req.url === '/looked-up-for-long') await once(req, 'close').catch(() => undefined);
    const room = memory.open('key_1');
    res.once('close', () => room.close());
    try {
      const { value } = await readBody(req, LIMITS_BY_PATH[req.url ?? ''] ?? LIMITS, room);
      outcome.resolve(value);
      res.end('read');
    } catch (error) {
      const fault = error instanceof ApiError ? (error.fault as BodyFault) : undefined;
      outcome.resolve(fault);
      sendWireError(res, fault ? invalid(fault.kind) : { status: 500, body: { detail: '' } });
    }
  });
  url = server.url;
});
afterAll(() => server.close());

interface Posted {
  status: number | undefined;
  /** Result or error of `readBody`. */
  outcome: unknown;
}

/** Posts a body in these pieces; with one piece its length is announced. */
async function post(pieces: (string | Buffer)[], headers: Record<string, string> = JSON_TYPE): Promise<Posted> {
  outcome = Promise.withResolvers();
  const req = request(url, { method: 'POST', headers, agent: false });
  const answered = once(req, 'response') as Promise<[IncomingMessage]>;
  const [only] = pieces;
  if (pieces.length === 1) req.end(only);
  else {
    for (const piece of pieces) req.write(piece);
    req.end();
  }
  const [res] = await answered;
  res.resume();
  return { status: res.statusCode, outcome: await outcome.promise };
}

it('reads a JSON object, whatever pieces it comes in', async () => {
  const bytes = Buffer.from('{"text":"Grüße 🎈","list":[1,2]}');
  const expected = { text: 'Grüße 🎈', list: [1, 2] };
  expect(await post([bytes])).toEqual({ status: 200, outcome: expected });
  const pieces = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
  expect(await post(pieces)).toEqual({ status: 200, outcome: expected });
});

it('reads a long body that comes in pieces as a parser does', async () => {
  const image = `data:image/png;base64,${Buffer.alloc(550_000, 'pixels').toString('base64')}`;
  const value = { before: 'Grüße 🎈', image: [image], list: new Array(9_000).fill({ a: 1 }), text: 'x'.repeat(99_999) };
  const bytes = Buffer.from(JSON.stringify(value));
  const inPieces = (all: Buffer) =>
    Array.from({ length: Math.ceil(all.length / 9_973) }, (_, index) =>
      all.subarray(index * 9_973, (index + 1) * 9_973),
    );
  // `toEqual` would print a difference too long to read.
  const isRead = ({ status, outcome: read }: Posted): boolean => status === 200 && isDeepStrictEqual(read, value);
  expect(isRead(await post([bytes]))).toBe(true);
  expect(isRead(await post(inPieces(bytes)))).toBe(true);
  const cut = inPieces(bytes.subarray(0, -1));
  expect(await post(cut)).toEqual({ status: 400, outcome: { kind: 'body_not_json' } });
});

it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])(
  'takes %s for JSON',
  async (contentType) => {
    expect(await post(['{}'], { 'content-type': contentType })).toEqual({ status: 200, outcome: {} });
  },
);

describe('answers 400 to', () => {
  const image = `data:image/png;base64,${'A'.repeat(900_000)}`;
  it.each<[string, (string | Buffer)[], Record<string, string>, string]>([
    ['a body over the limit', ['x'.repeat(1_000_001)], JSON_TYPE, 'body_too_large'],
    [
      'a body over the limit in pieces',
      ['{"a":"', 'x'.repeat(600_000), 'x'.repeat(600_000)],
      JSON_TYPE,
      'body_too_large',
    ],
    ['too much text', [`{"a":"${'x'.repeat(240_000)}"}`], JSON_TYPE, 'body_text_too_large'],
    [
      'too much text beside an image',
      [`{"a":"${'x'.repeat(240_000)}","b":"${image.slice(0, 500_000)}"}`],
      JSON_TYPE,
      'body_text_too_large',
    ],
    ['a compressed body', ['{}'], { ...JSON_TYPE, 'content-encoding': 'gzip' }, 'body_compressed'],
    ['two encodings', ['{}'], { ...JSON_TYPE, 'content-encoding': 'identity, gzip' }, 'body_compressed'],
    ['another content type', ['{}'], { 'content-type': 'text/plain' }, 'body_not_json_type'],
    ['no content type', ['{}'], {}, 'body_not_json_type'],
    ['a type that only begins like JSON', ['{}'], { 'content-type': 'application/jsonx' }, 'body_not_json_type'],
    ['bad UTF-8', [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])], JSON_TYPE, 'body_not_utf8'],
    ['a character cut short', [Buffer.from('{"a":"ß"}').subarray(0, 7)], JSON_TYPE, 'body_not_utf8'],
    ['two byte order marks', ['\ufeff\ufeff{}'], JSON_TYPE, 'body_not_json'],
    ['a byte order mark alone', ['\ufeff'], JSON_TYPE, 'body_not_json'],
    ['UTF-16', [Buffer.from('{}', 'utf16le')], JSON_TYPE, 'body_not_json'],
    ['UTF-16 with its mark', [Buffer.from('\ufeff{}', 'utf16le')], JSON_TYPE, 'body_not_utf8'],
    ['Brotli', ['{}'], { ...JSON_TYPE, 'content-encoding': 'br' }, 'body_compressed'],
    ['a NUL character as it is', ['{"a":"\0"}'], JSON_TYPE, 'body_not_json'],
    ['no JSON', ['{"a":}'], JSON_TYPE, 'body_not_json'],
    ['nothing', [''], JSON_TYPE, 'body_not_json'],
    ['a list', ['[]'], JSON_TYPE, 'body_not_an_object'],
    ['null', ['null'], JSON_TYPE, 'body_not_an_object'],
    ['65 levels', [`{"a":${'['.repeat(64)}${']'.repeat(64)}}`], JSON_TYPE, 'body_too_deep'],
    ['100,001 values', [`{"a":[${'1,'.repeat(99_999)}1]}`], JSON_TYPE, 'body_too_many_values'],
  ])('%s', async (_case, pieces, headers, kind) => {
    const { status, outcome: fault } = await post(pieces, headers);
    expect({ status, fault }).toEqual({ status: 400, fault: expect.objectContaining({ kind }) });
  });
});

it.each<[string, string, string | null]>([
  ['{"a":"x\\u0000y"}', 'a NUL character', 'a'],
  [
    '{"messages":[{"role":"user"},{"content":[{"text":"\\ud800"}]}]}',
    'half a surrogate pair',
    'messages[1].content[0].text',
  ],
  ['{"messages":[{"content":"\\udc00\\ud800"}]}', 'half a surrogate pair', 'messages[0].content'],
  ['{"tools":[{"parameters":{"a \\u00e9 b":{"c":"\\u0000"}}}]}', 'a NUL character', 'tools[0].parameters'],
  ['{"tools":[{"\\u0000":1}]}', 'a NUL character', 'tools[0]'],
  ['{"\\uDBFF":1}', 'half a surrogate pair', null],
])('answers 400 to %s and names the place', async (text, has, param) => {
  expect(await post([text])).toEqual({ status: 400, outcome: { kind: 'body_text_unsendable', has, param } });
});

/** So many members that begin with the same, in objects of 4,000, each with another number. */
function manyMembers(count: number, toKey: (index: number) => string): string {
  const members = Array.from({ length: count }, (_, index) => `"${toKey(index)}":1`);
  const objects = Array.from({ length: Math.ceil(count / 4_000) }, (_, index) =>
    members.slice(index * 4_000, (index + 1) * 4_000),
  );
  return `{"model":"m","metadata":[${objects.map((object) => `{${object.join()}}`).join()}]}`;
}

describe('8,193 keys that take long to list or to compare', () => {
  it.each<[string, (index: number) => string]>([
    ['numbers', (index) => String(index * 524_288)],
    ['numbers whose first digit is an escape', (index) => `\\u0031${index}`],
    ['escapes', (index) => `k${index}\\n`],
  ])('are refused where they are %s, and one fewer is read', async (_case, toKey) => {
    expect(await post([manyMembers(8_193, toKey)])).toEqual({
      status: 400,
      outcome: { kind: 'body_too_many_dear_keys', maxKeys: 8_192, param: 'metadata' },
    });
    expect(await post([manyMembers(8_192, toKey)])).toMatchObject({ status: 200, outcome: { model: 'm' } });
  });

  it('are read where they are neither', async () => {
    expect(await post([manyMembers(8_193, (index) => `k${index}`)])).toMatchObject({ status: 200 });
  });
});

it('reads escapes of what is text', async () => {
  const text = '{"a":"\\u00fc \\ud83d\\ude00 \\\\u0000 \\u0001","\\u0061b":1}';
  expect(await post([text])).toEqual({ status: 200, outcome: { a: 'ü 😀 \\u0000 \u0001', ab: 1 } });
});

it.each<[string, string]>([
  ['a body of just the limit', JSON.stringify({ a: `data:image/png;base64,${'A'.repeat(999_970)}` })],
  ['64 levels', `{"a":${'['.repeat(63)}${']'.repeat(63)}}`],
  ['an encoding of identity', '{}'],
])('reads %s', async (name, text) => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.maxBytes);
  const headers = name.includes('identity') ? { ...JSON_TYPE, 'content-encoding': 'identity' } : JSON_TYPE;
  expect(await post([text], headers)).toMatchObject({ status: 200 });
});

it('stops reading a body without end soon after the limit', async () => {
  outcome = Promise.withResolvers();
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
  const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const send = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', send);
  send();
  expect(await outcome.promise).toMatchObject({ kind: 'body_too_large' });
  socket.resume();
  await closed;
  expect(socket.bytesWritten).toBeLessThan(64 * 1_048_576);
});

it('answers 400 when nothing more of a body comes for too long, and drops what comes later', async () => {
  outcome = Promise.withResolvers();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('POST /impatient HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
  const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  expect({ answer, outcome: await outcome.promise }).toEqual({
    answer: expect.stringMatching(/^HTTP\/1\.1 400 /),
    outcome: { kind: 'body_too_slow', silenceMs: 50 },
  });

  const ended = once(received, 'end');
  socket.write(`${' '.repeat(98)}}`);
  await ended;
  const others = memory.open('key_1');
  expect(others.take(10 * LIMITS.maxBytes)).toBe(true);
  others.close();
  socket.destroy();
});

it('gives the bytes of an upload that stands still to a body that needs them, and says so', async () => {
  outcome = Promise.withResolvers();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n');
  socket.write('x'.repeat(500_000));
  const others = memory.open('key_2');
  const third = memory.open('key_3');
  const isThere = (bytes: number): boolean => {
    const room = memory.open('key_1');
    const couldHaveRest = room.take(10 * LIMITS.maxBytes - bytes + 1);
    room.close();
    return !couldHaveRest;
  };
  await until('all bytes to be there', () => isThere(500_000));
  const stillFor = performance.now() + 2_000;
  await until('the upload to stand still', () => performance.now() > stillFor);
  expect(third.take(8 * LIMITS.maxBytes)).toBe(true);
  expect(others.take(6 * LIMITS.maxBytes)).toBe(true);
  expect(await outcome.promise).toMatchObject({ kind: 'key_bound_reached', bound: 'body_memory' });
  const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  expect(answer).toMatch(/key_bound_reached/);
  others.close();
  third.close();
  socket.destroy();
});

it('waits for nothing of a client that left before its body was asked for', async () => {
  outcome = Promise.withResolvers();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const head =
    'POST /looked-up-for-long HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n';
  socket.end(`${head}{`);
  expect(await outcome.promise).toEqual({ kind: 'body_aborted' });
});

it('answers 400 when a body that comes byte by byte is not whole in time', async () => {
  outcome = Promise.withResolvers();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    'POST /for-a-moment HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
  );
  const dripping = setInterval(() => socket.write(' '), 10);
  const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  clearInterval(dripping);
  expect({ answer, outcome: await outcome.promise }).toEqual({
    answer: expect.stringMatching(/^HTTP\/1\.1 400 /),
    outcome: { kind: 'body_unfinished', wholeMs: 200 },
  });
  socket.destroy();
});

it('says so when the client leaves before its body is whole', async () => {
  outcome = Promise.withResolvers();
  const req = request(url, { method: 'POST', headers: { ...JSON_TYPE, 'content-length': '100' }, agent: false });
  req.on('error', () => {});
  await new Promise<void>((resolve) => req.write('{"a":', () => resolve()));
  req.destroy();
  expect(await outcome.promise).toEqual({ kind: 'body_aborted' });
});
