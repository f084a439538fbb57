import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { type IncomingMessage, request, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { listen } from '@turnpike/http-service/listen';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { ApiError } from '@turnpike/public-api/apiError';
import { createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { aFormBody, BOUNDARY, FORM_TYPE, type FormPart } from '../../../test/aFormBody.ts';
import { aForm, anExchange } from '../../../test/anExchange.ts';
import { toMediaError } from '../../api/mediaError.ts';
import type { CallFault } from '../../api/mediaFault.ts';
import { type BodyCapacity, openCallCapacity } from '../uploads/callCapacity.ts';
import { openUploadFolder } from '../uploads/uploadFolder.ts';
import { type Form, type FormLimits, MEMORY_OF_UPLOAD, readForm } from './readForm.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_123 });

const MIB = 1_048_576;
const LIMITS: FormLimits = {
  maxBytes: MIB,
  maxTextBytes: 1_000,
  fileParts: new Map([['file', 'file']]),
  tooLarge: (sentBytes) => ({ kind: 'upload_too_large', maxBytes: MIB, sentBytes }),
};
const IMPATIENT: Record<string, FormLimits> = {
  '/silence': { ...LIMITS, silenceMs: 50 },
  '/whole': { ...LIMITS, wholeMs: 200 },
};

interface ReadBack {
  texts: Form['texts'];
  files: { name: string; bytes: number; sha256: string; content: string }[];
}

let folder: string;
let room: BodyCapacity;
let server: Server;
let port: number;
/** The outcome of the last form: the fields, or the fault. */
let outcome: PromiseWithResolvers<ReadBack | CallFault>;
/** Descriptors of this process that lead to files of the folder. */
async function openFiles(): Promise<number> {
  const links = await readdir('/proc/self/fd');
  const paths = await Promise.all(links.map((link) => stat(`/proc/self/fd/${link}`).catch(() => undefined)));
  return paths.filter((found) => found?.isFile() && found.nlink === 0).length;
}
const isEmpty = (memory: BodyCapacity['memory']): boolean => {
  const taken = memory.open('key_other');
  const hasAll = taken.take(8 * MIB);
  taken.close();
  return hasAll;
};

beforeAll(async () => {
  folder = join(await aTemporaryFolder(), 'parts');
  room = {
    memory: createBodyMemory(16 * MIB),
    disk: createBodyMemory(16 * MIB),
    folder: await openUploadFolder(folder),
  };
  port = await findFreePort();
  server = await listen(
    async (req, res) => {
      const call = openCallCapacity(room, 'key_1');
      try {
        const form = await readForm({ req, res }, IMPATIENT[req.url ?? ''] ?? LIMITS, call);
        outcome.resolve(await readBack(form));
        res.end('read');
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const fault = error.fault as CallFault;
        outcome.resolve(fault);
        sendWireError(res, toMediaError(fault, { keysPageUrl: '' }));
      } finally {
        call.close();
      }
    },
    { host: '127.0.0.1', port },
  );
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  outcome = Promise.withResolvers();
});

/** Looks at what was read, and lets go of it. */
async function readBack({ texts, files }: Form): Promise<ReadBack> {
  const found: ReadBack = { texts, files: [] };
  for (const [name, { path, bytes, sha256, discard }] of files) {
    found.files.push({ name, bytes, sha256, content: await readFile(path, 'latin1') });
    await discard();
  }
  return found;
}

/** Posts bytes in these pieces. */
async function post(
  pieces: (string | Buffer)[],
  { headers = { 'content-type': FORM_TYPE }, path = '/' }: { headers?: Record<string, string>; path?: string } = {},
): Promise<{ status: number | undefined; connection: string | undefined; body: string }> {
  const req = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false });
  req.on('error', () => {});
  const answered = once(req, 'response') as Promise<[IncomingMessage]>;
  for (const piece of pieces) req.write(piece);
  req.end();
  const [res] = await answered;
  const body = Buffer.concat(await res.toArray()).toString();
  return { status: res.statusCode, connection: res.headers.connection, body };
}

/** A connection of its own, with the head of a request sent. */
async function begin(headers: string[], path = '/'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write([`POST ${path} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n'));
  return socket;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const aFile = (value: string | Buffer): FormPart => ({ name: 'file', value, fileName: 'speech.wav' });

describe('a form', () => {
  it('is read whatever order its parts are in: the model may follow the file', async () => {
    const content = Buffer.from('\r\n--not the boundary\r\n\0\xff', 'latin1');
    await post([aFormBody({ name: 'language', value: 'en' }, aFile(content), { name: 'model', value: 'whisper' })]);
    expect(await outcome.promise).toEqual({
      texts: [
        { name: 'language', value: 'en' },
        { name: 'model', value: 'whisper' },
      ],
      files: [{ name: 'file', bytes: content.length, sha256: sha256(content), content: content.toString('latin1') }],
    });
  });

  it('keeps its texts as they are: brackets, repetitions, empty ones and every character', async () => {
    const texts = ['', 'ça', '🎙', 'a\r\nb', ' x '].map((value) => ({ name: 'timestamp_granularities[]', value }));
    await post([aFormBody(...texts)]);
    expect(await outcome.promise).toEqual({ texts, files: [] });
  });

  it('has an empty file where one was sent', async () => {
    await post([aFormBody(aFile(''))]);
    expect(await outcome.promise).toMatchObject({ files: [{ bytes: 0 }] });
  });

  it('lies in files without a name, which go when they are discarded', async () => {
    const before = await openFiles();
    let during = 0;
    let names: string[] = [];
    const call = openCallCapacity(room, 'key_1');
    const form = await readForm(aForm(aFile('x'.repeat(100_000))), LIMITS, call);
    during = await openFiles();
    names = await readdir(folder);
    for (const file of form.files.values()) await file.discard();
    call.close();
    expect({ during, names, after: await openFiles() }).toEqual({ during: before + 1, names: [], after: before });
  });

  it('leaves its connection open for the next', async () => {
    const answer = await post([aFormBody({ name: 'model', value: 'x' })], {
      headers: { 'content-type': FORM_TYPE, connection: 'keep-alive' },
    });
    expect(answer).toMatchObject({ status: 200, connection: 'keep-alive' });
  });
});

const cut = (bytes: Buffer, places: number[]): Buffer[] => {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
};

it('gives back any parts, cut into pieces anywhere', async () => {
  const aText = fc.record({
    name: fc.stringMatching(/^[a-z_]{1,12}(\[[a-z]{0,3}\])?$/),
    value: fc.string({ unit: 'grapheme', maxLength: 20 }),
  });
  const aContent = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(
      fc.array(aText, { maxLength: 8 }),
      aContent,
      fc.nat(8),
      fc.array(fc.nat(4_000), { maxLength: 12 }),
      async (texts, content, place, places) => {
        const parts: FormPart[] = texts.toSpliced(place % (texts.length + 1), 0, aFile(content) as never);
        const call = openCallCapacity(room, 'key_1');
        const form = await readForm(
          anExchange(cut(aFormBody(...parts), places), { 'content-type': FORM_TYPE }),
          LIMITS,
          call,
        );
        const found = await readBack(form);
        call.close();
        expect(found).toEqual({
          texts,
          files: [
            { name: 'file', bytes: content.length, sha256: sha256(content), content: content.toString('latin1') },
          ],
        });
      },
    ),
    { numRuns: 300 },
  );
});

it('comes to an end with any broken form, and keeps nothing of it', async () => {
  const aPiece = fc.constantFrom(
    `--${BOUNDARY}`,
    `\r\n--${BOUNDARY}`,
    `\r\n--${BOUNDARY}--`,
    ...['--', '\r\n', '\r', '\n', '\r\n\r\n', ':', ' ', '\0', 'x', 'x'.repeat(70_000)],
    'content-disposition: form-data; name="model"',
    'content-disposition: form-data; name="file"; filename="x"',
    'content-disposition: form-data; name="\xff"',
    'content-disposition: form-data',
    'content-disposition: attachment',
    'content-type: text/plain; charset=utf-16le',
  );
  const before = await openFiles();
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(aPiece, { maxLength: 24 }),
      fc.array(fc.nat(80_000), { maxLength: 12 }),
      async (pieces, places) => {
        const call = openCallCapacity(room, 'key_1');
        const body = Buffer.from(pieces.join(''), 'latin1');
        try {
          await readBack(await readForm(anExchange(cut(body, places), { 'content-type': FORM_TYPE }), LIMITS, call));
          kinds.add('read');
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          kinds.add(error.fault.kind);
        }
        call.close();
      },
    ),
    { numRuns: 1_000 },
  );
  expect([...kinds].sort()).toEqual(['form_malformed', 'invalid_request', 'read'].filter((kind) => kinds.has(kind)));
  expect(kinds).toContain('form_malformed');
  expect(await openFiles()).toBe(before);
  expect(isEmpty(room.memory) && isEmpty(room.disk)).toBe(true);
});

describe('answers 400 to', () => {
  const begun = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\nabc`;
  it.each<[string, CallFault['kind'], string, Record<string, string>]>([
    ['a body of another type', 'form_not_form_type', 'x', { 'content-type': 'application/json' }],
    ['a body without a type', 'form_not_form_type', 'x', {}],
    ['a form without a boundary', 'form_not_form_type', 'x', { 'content-type': 'multipart/form-data' }],
    ['an empty body', 'form_malformed', '', { 'content-type': FORM_TYPE }],
    ['bytes without a boundary', 'form_malformed', 'hello', { 'content-type': FORM_TYPE }],
    ['a form that ends within a file', 'form_malformed', begun, { 'content-type': FORM_TYPE }],
    [
      'a form that ends within a header',
      'form_malformed',
      `--${BOUNDARY}\r\ncontent-disposition`,
      { 'content-type': FORM_TYPE },
    ],
    [
      'a part without a name',
      'form_malformed',
      `--${BOUNDARY}\r\ncontent-disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--`,
      { 'content-type': FORM_TYPE },
    ],
    ['a compressed form', 'body_compressed', 'x', { 'content-type': FORM_TYPE, 'content-encoding': 'gzip' }],
  ])('%s', async (_case, kind, body, headers) => {
    const { status } = await post([body], { headers });
    expect({ status, fault: await outcome.promise }).toEqual({ status: 400, fault: { kind } });
  });

  it('more parts, or more text, than any request needs', async () => {
    const many = Array.from({ length: 65 }, (_part, index) => ({ name: `part${index}`, value: '' }));
    expect(await post([aFormBody(...many)])).toMatchObject({ status: 400, connection: 'close' });
    expect(await outcome.promise).toMatchObject({ kind: 'form_too_large' });
    outcome = Promise.withResolvers();
    await post([aFormBody({ name: 'a', value: 'x'.repeat(600) }, { name: 'b', value: 'x'.repeat(600) })]);
    expect(await outcome.promise).toMatchObject({ kind: 'form_too_large' });
  });

  it('a form of which nothing more comes, or that is not whole in time', async () => {
    for (const [path, kind] of [
      ['/silence', 'body_too_slow'],
      ['/whole', 'body_unfinished'],
    ] as const) {
      outcome = Promise.withResolvers();
      const socket = await begin([`content-type: ${FORM_TYPE}`, 'content-length: 1000'], path);
      const dripping = setInterval(() => path === '/whole' && socket.write('x'), 20);
      const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
      clearInterval(dripping);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(await outcome.promise).toMatchObject({ kind });
      socket.destroy();
    }
  });
});

describe('answers 422 to', () => {
  it.each<[string, FormPart[], string]>([
    ['a file that no field may be', [{ name: 'model', value: 'x', fileName: 'x' }], 'model may not be a file'],
    ['a second file', [aFile('x'), aFile('y')], 'file is given more than once'],
    ['a text that is no UTF-8', [{ name: 'prompt', value: Buffer.from([0xc3]) }], 'prompt is not valid UTF-8'],
  ])('%s', async (_case, parts, message) => {
    const { status } = await post([aFormBody(...parts)]);
    expect({ status, fault: await outcome.promise }).toMatchObject({
      status: 422,
      fault: { kind: 'invalid_request', message },
    });
  });
});

describe('answers 413', () => {
  it('before anything is read, where the length says so', async () => {
    const socket = await begin([`content-type: ${FORM_TYPE}`, `content-length: ${MIB + 1}`]);
    const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*connection: close/is);
    expect(answer).toMatch(/"max_size_mb":1,"message":/);
    socket.destroy();
  });

  it('while reading, where it does not, without a message and to a client that goes on sending', async () => {
    const big = Buffer.alloc(8 * MIB, 'x');
    const { status, connection, body } = await post([aFormBody(aFile(big))], {
      headers: { 'content-type': FORM_TYPE, 'transfer-encoding': 'chunked' },
    });
    expect({ status, connection, body: JSON.parse(body) }).toEqual({
      status: 413,
      connection: 'close',
      body: { error: 'file_too_large', max_size_mb: 1 },
    });
  });

  it('to what follows the last part, too', async () => {
    const { status } = await post([aFormBody({ name: 'model', value: 'x' }), Buffer.alloc(2 * MIB, 'x')], {
      headers: { 'content-type': FORM_TYPE, 'transfer-encoding': 'chunked' },
    });
    expect(status).toBe(413);
  });
});

describe('keeps nothing of', () => {
  it('a form whose client leaves', async () => {
    const before = await openFiles();
    const socket = await begin([`content-type: ${FORM_TYPE}`, 'content-length: 500000']);
    socket.write(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n${'x'.repeat(200_000)}`,
    );
    await until('its file to be there', async () => (await openFiles()) === before + 1);
    socket.destroy();
    expect(await outcome.promise).toEqual({ kind: 'body_aborted' });
    await until('its file to be gone', async () => (await openFiles()) === before);
    expect(isEmpty(room.memory) && isEmpty(room.disk)).toBe(true);
  });
});

describe('answers 503 and asks to come again', () => {
  it('where uploads under way take all the memory there is for them', async () => {
    const others = ['key_2', 'key_3', 'key_4', 'key_5', 'key_6'].map((keyId) => room.memory.open(keyId));
    for (const taken of others) while (taken.take(MEMORY_OF_UPLOAD / 2));
    const { status } = await post([aFormBody(aFile('x'))]);
    for (const taken of others) taken.close();
    expect({ status, fault: await outcome.promise }).toEqual({ status: 503, fault: { kind: 'no_room_for_body' } });
  });

  it('where their files take all the disk there is for them', async () => {
    const others = ['key_2', 'key_3', 'key_4', 'key_5', 'key_6'].map((keyId) => room.disk.open(keyId));
    for (const taken of others) while (taken.take(MIB / 8));
    const { status } = await post([aFormBody(aFile('x'.repeat(500_000)))]);
    for (const taken of others) taken.close();
    expect({ status, fault: await outcome.promise }).toMatchObject({
      status: 503,
      fault: { kind: 'no_room_for_body' },
    });
  });
});
