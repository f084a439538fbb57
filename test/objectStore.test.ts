import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestS3, type TestS3 } from '@turnpike/local-stack/startTestServers';
import { createLogger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { ObjectStoreError } from '@turnpike/object-store/objectStoreError';
import { openS3Store } from '@turnpike/object-store/s3/openS3Store';
import { leaveUpload } from '@turnpike/object-store/test/leaveUpload';
import {
  describeFullStore,
  describeObjectStore,
  type ObjectStoreUnderTest,
} from '@turnpike/object-store/test/objectStoreContract';
import { aStream, bytesOf, sha256Of, summarize } from '@turnpike/object-store/test/streams';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { until } from '@turnpike/test-support/until';
import { accessTo, PATIENT, settingsOf } from './support/s3Access.ts';

const MIB = 1024 * 1024;
const LARGE_BYTES = 11 * MIB + 7;
const OPTIONS = { contentType: 'video/mp4', maxBytes: 64 * MIB };
/** Timeouts for a test that waits for them: short enough for three attempts. */
const HASTY = { ...PATIENT, timeoutMs: 3_000, idleTimeoutMs: 500 };
const log = createLogger({ service: 'object-store-test', level: 'silent' });

let s3: TestS3;
let keys = 0;
const aKey = (): string => `faults/${++keys}/clip.mp4`;

const openAt = (port: number, limits: Partial<typeof PATIENT> = {}): Promise<ObjectStore> =>
  openS3Store({ ...accessTo(s3, port), ...PATIENT, ...limits, log });

/** Returns the rejection of a promise. It never names the store. */
async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => Promise.reject(new Error('was not rejected')),
    (thrown: unknown) => thrown,
  );
  expect(String(error)).not.toMatch(/127\.0\.0\.1|localhost|clip/);
  return error;
}

const firstOf = (objects: AsyncIterable<unknown>): Promise<unknown> => objects[Symbol.asyncIterator]().next();

const unavailable = (reason: string) => expect.objectContaining({ kind: 'unavailable', reason });

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const describeWithS3 = process.env.TURNPIKE_TEST_S3 === 'available' ? describe : describe.skip;

describeWithS3('a real S3 server', () => {
  let direct: ObjectStore;
  beforeAll(async () => {
    s3 = await startTestS3((line) => void process.stderr.write(`${line}\n`));
    direct = await openAt(s3.port);
  });
  afterAll(async () => {
    await direct?.close();
    await s3?.stop();
  });

  const leftover = (key: string): Promise<number> => direct.removeUnfinished(key, new Date(Date.now() + 60_000));

  const underTest = (): ObjectStoreUnderTest => ({
    settings: settingsOf(s3),
    open: (limits) => openAt(s3.port, limits),
    leaveUnfinished: (key) => leaveUpload(accessTo(s3, s3.port), key),
  });
  describeObjectStore('S3', underTest);
  describeFullStore('S3', underTest, { objects: 110, mib: 32 });

  describe('is not opened', () => {
    const open = (changes: object) => openS3Store({ ...accessTo(s3, s3.port), ...PATIENT, ...changes, log });

    it('with a wrong secret, which is not told', async () => {
      const secretAccessKey = 'a secret that is not the right one';
      const error = (await rejectionOf(open({ secretAccessKey }))) as Error;
      expect(error.message).toMatch(/^the object store refuses access to the bucket objects: check the access key/);
      expect(error.message).not.toContain(secretAccessKey);
    });

    it('with an unknown access key', async () => {
      await expect(open({ accessKeyId: 'nobody' })).rejects.toThrow(/refuses access to the bucket objects/);
    });

    it('without its bucket', async () => {
      await expect(open({ bucket: 'nothing' })).rejects.toThrow('the object store has no bucket nothing');
    });
  });

  describe('behind a link', () => {
    let link: FaultProxy;
    let store: ObjectStore;
    /** One that gives up soon. */
    let hasty: ObjectStore;
    beforeEach(async () => {
      link = await openFaultProxy(s3.port);
      store = await openAt(link.port);
      hasty = await openAt(link.port, HASTY);
    });
    afterEach(async () => {
      await store.close();
      await hasty.close();
      await link.close();
    });

    it('that is slow, stores and gives all the same', async () => {
      const key = aKey();
      await link.become({ delayMs: 30 });
      const stored = await store.put(key, aStream(LARGE_BYTES), OPTIONS);
      expect(stored.sha256).toBe(sha256Of(bytesOf(LARGE_BYTES)));
      await link.become({ delayMs: 30, bytesPerSecond: 20 * MIB, sliceBytes: 100_000 });
      expect(await summarize((await store.get(key)).content)).toEqual(stored);
    });

    it('that passes little at a time, gives up no content that goes on', async () => {
      const key = aKey();
      const stored = await store.put(key, aStream(700_000), OPTIONS);
      const reading = await openAt(link.port, { timeoutMs: HASTY.timeoutMs, idleTimeoutMs: HASTY.timeoutMs });
      await link.become({ bytesPerSecond: 150_000, sliceBytes: 15_000 });
      const startedAt = performance.now();
      expect(await summarize((await reading.get(key)).content)).toEqual(stored);
      expect(performance.now() - startedAt).toBeGreaterThan(HASTY.timeoutMs);
      await reading.close();
    });

    it('that is cut in the middle of a content, fails the content', async () => {
      const key = aKey();
      await store.put(key, aStream(LARGE_BYTES), OPTIONS);
      await link.become({ resetAfterBytes: 2 * MIB });
      const { content, contentBytes } = await store.get(key);
      const { bytes, error } = await summarize(content);
      expect(contentBytes).toBe(LARGE_BYTES);
      expect(bytes).toBeLessThan(2 * MIB);
      expect(error).toEqual(unavailable('broken_off'));
      await rejectionOf(Promise.reject(error));
    });

    it('that loses all in the middle of a content, fails it in time', async () => {
      const key = aKey();
      await store.put(key, aStream(LARGE_BYTES), OPTIONS);
      const { content } = await hasty.get(key);
      await new Promise((resolve) => content.once('readable', resolve));
      await link.become({ blackHole: true });
      const startedAt = performance.now();
      const { bytes, error } = await summarize(content);
      expect(bytes).toBeLessThan(LARGE_BYTES);
      expect(error).toEqual(unavailable('deadline'));
      expect(performance.now() - startedAt).toBeLessThan(HASTY.idleTimeoutMs + 10_000);
    });

    it.each([
      ['loses all', { blackHole: true }, 'deadline'],
      ['keeps the answers', { holdReplies: true }, 'deadline'],
      ['refuses', { refuse: true }, 'broken_off'],
      ['resets', { resetOnAccept: true }, 'broken_off'],
    ])('that %s, fails everything in time', async (_, behaviour, reason) => {
      const key = aKey();
      // A deadline would be late on a busy machine, and the other reasons come at once.
      const asked = reason === 'deadline' ? hasty : store;
      link.reset(); // cuts open connections
      await link.become(behaviour);
      const startedAt = performance.now();
      const errors = await Promise.all(
        [
          asked.head(key),
          asked.get(key),
          asked.delete(key),
          asked.put(key, aStream(10), OPTIONS),
          asked.put(key, aStream(LARGE_BYTES), OPTIONS),
          firstOf(asked.list('faults')),
          asked.removeUnfinished('faults', new Date()),
        ].map(rejectionOf),
      );
      expect(errors).toEqual(Array(7).fill(unavailable(reason)));
      // A put looks once whether it took effect.
      expect(performance.now() - startedAt).toBeLessThan(2 * HASTY.timeoutMs + 10_000);
      await link.become({});
      // The server may carry out late what nobody waits for any more.
      await until('the store to be empty', async () => {
        await store.delete(key);
        return (await store.head(key)) === undefined;
      });
    });

    it('that is lost in the middle of an upload, leaves parts, which the next sweep removes', async () => {
      const key = aKey();
      async function* chunks(): AsyncGenerator<Buffer> {
        yield bytesOf(5 * MIB + 1);
        // The store takes it when the first part is stored.
        yield bytesOf(5 * MIB);
        await link.become({ blackHole: true });
        yield bytesOf(5 * MIB);
      }
      const source = Readable.from(chunks(), { objectMode: false });
      const put = rejectionOf(hasty.put(key, source, OPTIONS));
      expect(await put).toEqual(unavailable('deadline'));
      expect(source.destroyed).toBe(true);
      expect(await leftover(key)).toBe(1);
      expect(await leftover(key)).toBe(0);
      expect(await direct.head(key)).toBeUndefined();
    });

    it('that is cut in the middle of a part, sends the part again', async () => {
      const key = aKey();
      const bytes = bytesOf(LARGE_BYTES);
      async function* chunks(): AsyncGenerator<Buffer> {
        yield bytes.subarray(0, 5 * MIB + 1);
        // This one is read ahead.
        yield bytes.subarray(5 * MIB + 1, 6 * MIB);
        // The store takes it when the first part is stored. A cut before that might leave an upload that no process knows.
        await link.become({ bytesPerSecond: MIB, sliceBytes: 100_000 });
        void cutSoon();
        yield bytes.subarray(6 * MIB);
      }
      /** The second part takes five seconds. */
      async function cutSoon(): Promise<void> {
        await pause(300);
        link.reset();
        await link.become({});
      }
      const stored = await store.put(key, Readable.from(chunks(), { objectMode: false }), OPTIONS);
      expect(stored).toEqual({ bytes: LARGE_BYTES, sha256: sha256Of(bytesOf(LARGE_BYTES)) });
      expect(await summarize((await direct.get(key)).content)).toEqual(stored);
      expect(await leftover(key)).toBe(0);
    });

    it('is asked over no more connections than are allowed', async () => {
      // The other stores use their link whenever they like.
      const ownLink = await openFaultProxy(s3.port);
      // A request that is given up frees its place while the server still has its connection. One that waits for its turn has a third of
      // the time, so it is long.
      const few = await openAt(ownLink.port, { connections: 2, timeoutMs: 900_000, idleTimeoutMs: 900_000 });
      await ownLink.become({ delayMs: 10 });
      let most = 0;
      const watch = setInterval(() => {
        most = Math.max(most, ownLink.connections);
      }, 1);
      await Promise.all(Array.from({ length: 40 }, () => few.put(aKey(), aStream(3 * MIB), OPTIONS)));
      clearInterval(watch);
      await few.close();
      await ownLink.close();
      expect(most).toBeLessThanOrEqual(2);
    });

    it('is asked while contents are read slowly, however many', async () => {
      const one = await openAt(link.port, { connections: 1, timeoutMs: HASTY.timeoutMs });
      const key = aKey();
      await direct.put(key, aStream(LARGE_BYTES), OPTIONS);
      const { content } = await one.get(key);
      expect(await rejectionOf(one.get(key))).toEqual(unavailable('deadline'));
      expect(await one.head(key)).toMatchObject({ bytes: LARGE_BYTES });
      content.destroy();
      (await one.get(key)).content.destroy();
      await one.close();
    });
  });

  describe('whose answers are lost', () => {
    const lost: string[] = [];
    let losing: (method: string, url: string) => boolean = () => false;
    let server: Server;
    let store: ObjectStore;

    /** Passes requests on as they are, and keeps the answers to some of them to itself. */
    function relay(incoming: IncomingMessage, outgoing: ServerResponse): void {
      const { method = '', url = '', headers } = incoming;
      const options = { host: '127.0.0.1', port: s3.port, method, path: url, headers };
      const onward = request(options, (answer) => {
        if (losing(method, url)) {
          lost.push(`${method} ${url}`);
          answer.resume().once('end', () => outgoing.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      incoming.pipe(onward);
    }

    beforeEach(async () => {
      lost.length = 0;
      losing = () => false;
      server = await listen(relay);
      store = await openAt(portOf(server));
    });
    afterEach(async () => {
      await store.close();
      await closeServer(server);
    });

    const loseFirst = (pattern: RegExp, count: number): void => {
      losing = (method, url) => lost.length < count && pattern.test(`${method} ${url}`);
    };

    it.each([
      ['one put', 100, /^PUT .*x-id=PutObject/, 1],
      ['the begin of an upload', LARGE_BYTES, /^POST .*uploads/, 1],
      ['a part', LARGE_BYTES, /^PUT .*partNumber=2/, 1],
      ['the end of an upload', LARGE_BYTES, /^POST .*uploadId/, 1],
      ['every try of one put', 100, /^PUT .*x-id=PutObject/, 99],
      ['every try to end an upload', LARGE_BYTES, /^POST .*uploadId/, 99],
    ])('has what was stored counted once, by its own put: %s', async (_, length, pattern, count) => {
      const key = aKey();
      loseFirst(pattern, count);
      const stored = await store.put(key, aStream(length), OPTIONS);
      expect(lost.length).toBeGreaterThan(0);
      expect(await summarize((await direct.get(key)).content)).toEqual(stored);
      expect(await rejectionOf(store.put(key, aStream(length), OPTIONS))).toMatchObject({ kind: 'exists' });
      // An upload that nobody was told of is left to the sweep.
      expect(await leftover(key)).toBe(String(pattern).includes('uploads') ? 1 : 0);
    });

    it('has another put’s object refused all the same', async () => {
      const key = aKey();
      const first = await direct.put(key, aStream(7), OPTIONS);
      loseFirst(/^PUT .*x-id=PutObject/, 1);
      expect(await rejectionOf(store.put(key, aStream(8), OPTIONS))).toMatchObject({ kind: 'exists' });
      expect(await summarize((await direct.get(key)).content)).toEqual(first);
    });

    it('says of a put that nobody can look for that it may have taken effect', async () => {
      const key = aKey();
      losing = (method) => method !== 'GET';
      expect(await rejectionOf(store.put(key, aStream(8), OPTIONS))).toEqual(unavailable('broken_off'));
      expect(await direct.head(key)).toMatchObject({ bytes: 8 });
    });
  });
});

if (process.env.TURNPIKE_TEST_S3 !== 'available')
  afterAll(() => {
    process.stderr.write('SKIPPED: the S3 object store was NOT tested, there is no S3 server\n');
  });

describe('a server that answers as it likes', () => {
  const asked: string[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let server: Server;
  beforeEach(async () => {
    asked.length = 0;
    server = await listen((incoming, outgoing) => {
      asked.push(`${incoming.method} ${incoming.url}`);
      answer(incoming, outgoing);
    });
  });
  afterEach(() => closeServer(server));

  const openHere = (limits = PATIENT): Promise<ObjectStore> =>
    openS3Store({
      url: `http://127.0.0.1:${portOf(server)}`,
      ...{ region: 'us-east-1', bucket: 'objects', accessKeyId: 'someone', secretAccessKey: 'something' },
      ...{ ...limits, log },
    });
  const xml = (status: number, body: string) => (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${body}`);
  const versioning = (status: string) =>
    xml(200, `<VersioningConfiguration>${status && `<Status>${status}</Status>`}</VersioningConfiguration>`);

  /** A store that is fit to be opened, but for what it overwrites. */
  function goodStore({ overwrites = /^$/ }: { overwrites?: RegExp } = {}): typeof answer {
    let objects = 0;
    return (incoming, response) => {
      const what = `${incoming.method} ${incoming.url}`;
      const put = (): void =>
        void response.writeHead(objects++ === 0 || overwrites.test(what) ? 200 : 412, { etag: '"1"' }).end();
      incoming.resume().once('end', () => {
        if (/^GET .*versioning/.test(what)) versioning('')(incoming, response);
        else if (/^POST .*uploads/.test(what))
          xml(200, '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>')(
            incoming,
            response,
          );
        else if (/^POST .*uploadId/.test(what) && overwrites.test(what))
          xml(200, '<CompleteMultipartUploadResult><ETag>"2"</ETag></CompleteMultipartUploadResult>')(
            incoming,
            response,
          );
        else if (/PutObject|^POST/.test(what)) put();
        else response.writeHead(incoming.method === 'DELETE' ? 204 : 200, { etag: '"1"' }).end();
      });
    };
  }

  async function openWell(limits = PATIENT): Promise<ObjectStore> {
    answer = goodStore();
    const store = await openHere(limits);
    asked.length = 0;
    return store;
  }

  it.each([
    ['objects', /PutObject/],
    ['objects by uploads in parts', /uploadId/],
  ])('is not opened where it overwrites %s, and is left as it was', async (what, overwrites) => {
    answer = goodStore({ overwrites });
    await expect(openHere()).rejects.toThrow(`the object store overwrites ${what} although`);
    expect(asked.at(-1)).toMatch(/^DELETE .*DeleteObject/);
    expect(asked.filter((line) => line.includes('uploads'))).toHaveLength(
      asked.filter((line) => /^DELETE .*uploadId/.test(line)).length,
    );
  });

  it.each(['Enabled', 'Suspended'])('is not opened where its bucket’s versioning is %s', async (status) => {
    answer = versioning(status);
    await expect(openHere()).rejects.toThrow(/^the bucket objects keeps versions/);
  });

  it.each([
    ['that is away', (_: IncomingMessage, response: ServerResponse) => void response.destroy()],
    ['that does not work', xml(500, '<Error><Code>InternalError</Code></Error>')],
  ])('%s keeps nobody from starting', async (_, behaviour) => {
    answer = behaviour;
    const store = await openHere();
    answer = (_, response) => void response.writeHead(404).end();
    expect(await store.head('a/clip.mp4')).toBeUndefined();
    await store.close();
  });

  it.each([
    ['SlowDown', 503, 'overloaded', 3],
    ['ServiceUnavailable', 503, 'overloaded', 3],
    ['TooManyRequests', 429, 'overloaded', 3],
    ['InternalError', 500, 'failing', 3],
    ['AccessDenied', 403, 'refused', 1],
    ['NoSuchBucket', 404, 'refused', 1],
  ])('that says %s (%i) is unavailable, and is asked three times at most', async (code, status, reason, tries) => {
    const store = await openWell();
    answer = xml(status, `<Error><Code>${code}</Code><Message>of 127.0.0.1</Message></Error>`);
    for (const work of [() => store.get('a/clip.mp4'), () => store.delete('a/clip.mp4')]) {
      asked.length = 0;
      expect(await rejectionOf(work())).toEqual(unavailable(reason));
      expect(asked).toHaveLength(tries);
    }
    await store.close();
  });

  it('that fails once is asked again', async () => {
    const store = await openWell();
    answer = (incoming, response) =>
      asked.length === 1
        ? xml(503, '<Error><Code>SlowDown</Code></Error>')(incoming, response)
        : void response.writeHead(204).end();
    await store.delete('a/clip.mp4');
    expect(asked).toHaveLength(2);
    await store.close();
  });

  const contentHeaders = { 'content-type': 'video/mp4', etag: '"1"' };

  it.each([
    ['ends a content before its length', { 'content-length': '1000' }, 'broken_off'],
    ['falls silent in a content', { 'content-length': '1000' }, 'deadline'],
  ])('that %s fails the content', async (_, headers, reason) => {
    const store = await openWell(HASTY);
    answer = (_, response) => {
      response.writeHead(200, { ...contentHeaders, ...headers }).write(Buffer.alloc(500));
      if (reason === 'broken_off') setTimeout(() => response.socket?.end(), 20);
    };
    const { content } = await store.get('a/clip.mp4');
    expect(await summarize(content)).toMatchObject({ bytes: 500, error: unavailable(reason) });
    await store.close();
  });

  it.each([
    ['gives no length', 200, {}],
    ['gives all in place of a range', 200, { 'content-length': '500' }],
    ['gives another range', 206, { 'content-length': '10', 'content-range': 'bytes 1-10/500' }],
    ['gives less than the range', 206, { 'content-length': '5', 'content-range': 'bytes 0-4/500' }],
    ['gives a range of another length', 206, { 'content-length': '5', 'content-range': 'bytes 0-9/500' }],
  ])('that %s gives nothing', async (_, status, headers) => {
    const store = await openWell();
    answer = (_, response) => {
      response.writeHead(status, { ...contentHeaders, ...headers });
      response.end(Buffer.alloc(Number((headers as Record<string, string>)['content-length'] ?? 500)));
    };
    expect(await rejectionOf(store.get('a/clip.mp4', { start: 0, end: 9 }))).toEqual(unavailable('broken_off'));
    await store.close();
  });

  it('that falls silent in a list fails the list in time', async () => {
    const store = await openWell(HASTY);
    answer = (_, response) => void response.writeHead(200, { 'content-type': 'application/xml' }).write('<ListBucket');
    const startedAt = performance.now();
    expect(await rejectionOf(firstOf(store.list('a')))).toBeInstanceOf(ObjectStoreError);
    expect(performance.now() - startedAt).toBeLessThan(HASTY.timeoutMs + 10_000);
    await store.close();
  });
});
