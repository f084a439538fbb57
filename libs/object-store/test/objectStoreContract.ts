import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { ListedObject, ObjectStore } from '../src/objectStore.ts';
import { ObjectStoreError } from '../src/objectStoreError.ts';
import { aFailingStream, anOpenStream, aStallingStream, aStream, bytesOf, sha256Of, summarize } from './streams.ts';

const MIB = 1024 * 1024;
/** Larger than two parts of the S3 store, and no multiple of one. */
const LARGE_BYTES = 11 * MIB + 7;
const OPTIONS = { contentType: 'video/mp4', maxBytes: 64 * MIB };

export interface ObjectStoreUnderTest {
  /** The variables by which a service opens the same store. */
  settings: Record<string, string>;
  open(limits: { idleTimeoutMs: number; connections: number }): Promise<ObjectStore>;
  /** Leaves behind what a process does that dies during a put. */
  leaveUnfinished(key: string): Promise<void>;
}

const aKey = (): string => `tests/${randomUUID()}/clip.mp4`;

/** Resolves with what a promise is rejected with. */
const rejectionOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => Promise.reject(new Error(`resolved with ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  );

const kindOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await rejectionOf(promise);
  return error instanceof ObjectStoreError ? error.kind : error;
};

async function keysOf(objects: AsyncIterable<ListedObject>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects) keys.push(key);
  return keys;
}

interface Peaks {
  putBytes: number;
  readBytes: number;
}

/** The most memory that another process has in use while it stores an object of that length, and while it reads it. */
async function measureMemory(env: NodeJS.ProcessEnv, key: string, length: number): Promise<Peaks> {
  const script = join(import.meta.dirname, 'measureMemory.ts');
  const args = ['--expose-gc', '--no-warnings', script, key, String(length)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  return JSON.parse(stdout) as Peaks;
}

/** Well above what a busy machine holds a process up. */
const IMPATIENT_MS = 1_500;

/** One set of tests for every implementation, but for those of `describeFullStore`. */
export function describeObjectStore(name: string, underTest: () => ObjectStoreUnderTest): void {
  describe(`object store contract: ${name}`, () => {
    let store: ObjectStore;
    beforeAll(async () => {
      store = await underTest().open({ idleTimeoutMs: 30_000, connections: 16 });
    });
    afterAll(() => store.close());

    /** One that gives streams up soon. */
    async function withImpatientStore(work: (impatient: ObjectStore) => Promise<void>): Promise<void> {
      const impatient = await underTest().open({ idleTimeoutMs: IMPATIENT_MS, connections: 2 });
      await work(impatient).finally(() => impatient.close());
    }

    const expectNothingLeft = async (key: string): Promise<void> => {
      expect(await store.head(key)).toBeUndefined();
      expect(await keysOf(store.list(key))).toEqual([]);
      expect(await store.removeUnfinished(key, new Date(Date.now() + 60_000))).toBe(0);
    };

    it.each([0, 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, LARGE_BYTES])(
      'gives back %i bytes as they were stored, with their length, type and hash',
      async (length) => {
        const key = aKey();
        const stored = await store.put(key, aStream(length), { ...OPTIONS, bytes: length });
        expect(stored).toEqual({ bytes: length, sha256: sha256Of(bytesOf(length)) });

        const { content, ...about } = await store.get(key);
        expect(about).toEqual({ bytes: length, contentBytes: length, contentType: 'video/mp4', etag: about.etag });
        expect(about.etag).toMatch(/^"[^"]+"$/);
        expect(await summarize(content)).toEqual(stored);
        expect(await store.head(key)).toEqual({ bytes: length, contentType: 'video/mp4', etag: about.etag });
      },
    );

    it('stores chunks of any size, larger than a part or empty', async () => {
      const key = aKey();
      const bytes = bytesOf(13 * MIB);
      const sizes = [bytes.subarray(0, 0), bytes.subarray(0, 12 * MIB), bytes.subarray(12 * MIB, 12 * MIB + 1)];
      const source = Readable.from([...sizes, bytes.subarray(12 * MIB + 1)], { objectMode: false });
      const stored = await store.put(key, source, OPTIONS);
      expect(stored).toEqual({ bytes: bytes.length, sha256: sha256Of(bytes) });
      expect(await summarize((await store.get(key)).content)).toEqual(stored);
    });

    it('gives any range of an object, cut at its end', async () => {
      const key = aKey();
      await store.put(key, aStream(LARGE_BYTES), OPTIONS);
      const whole = bytesOf(LARGE_BYTES);
      const ranges = [
        { start: 0, end: 0 },
        { start: 5 * MIB - 3, end: 5 * MIB + 3 },
        { start: LARGE_BYTES - 1, end: LARGE_BYTES - 1 },
        { start: LARGE_BYTES - 10, end: LARGE_BYTES + 1_000 },
        { start: 1, end: LARGE_BYTES - 2 },
      ];
      for (const range of ranges) {
        const expected = whole.subarray(range.start, range.end + 1);
        const { content, bytes, contentBytes } = await store.get(key, range);
        expect({ bytes, contentBytes }).toEqual({ bytes: LARGE_BYTES, contentBytes: expected.length });
        expect(await summarize(content)).toEqual({ bytes: expected.length, sha256: sha256Of(expected) });
      }
    });

    it('has no range behind the end of an object, and none that ends before it begins', async () => {
      const [key, empty] = [aKey(), aKey()];
      await store.put(key, aStream(10), OPTIONS);
      await store.put(empty, aStream(0), OPTIONS);
      await expect(store.get(key, { start: 10, end: 20 })).rejects.toThrow(RangeError);
      await expect(store.get(empty, { start: 0, end: 0 })).rejects.toThrow(RangeError);
      for (const range of [
        { start: 3, end: 2 },
        { start: -1, end: 2 },
        { start: 0.5, end: 2 },
      ])
        await expect(store.get(key, range)).rejects.toThrow(RangeError);
    });

    it.each([10, LARGE_BYTES])(
      'refuses a second object of %i bytes under a key, and keeps the first',
      async (length) => {
        const key = aKey();
        const first = await store.put(key, aStream(length), OPTIONS);
        const second = aStream(length + 1);
        expect(await kindOf(store.put(key, second, OPTIONS))).toBe('exists');
        expect(second.destroyed).toBe(true);
        expect(await summarize((await store.get(key)).content)).toEqual(first);
        expect(await store.removeUnfinished(key, new Date(Date.now() + 60_000))).toBe(0);
      },
    );

    it.each([1, 5 * MIB])('lets one of eight puts of one key win', async (length) => {
      const key = aKey();
      const puts = Array.from({ length: 8 }, (_, n) => store.put(key, aStream(length + n), OPTIONS));
      const outcomes = await Promise.allSettled(puts);
      const stored = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const kinds = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.kind] : []));
      expect(stored).toHaveLength(1);
      expect(kinds).toEqual(Array(7).fill('exists'));
      expect(await summarize((await store.get(key)).content)).toEqual(stored[0]);
      expect(await store.removeUnfinished(key, new Date(Date.now() + 60_000))).toBe(0);
    });

    describe.each([
      ['small', 100],
      ['of several parts', LARGE_BYTES],
    ])('a stream that is %s', (_, length) => {
      it('and fails leaves nothing, and its own error', async () => {
        const [key, error] = [aKey(), new Error('the engine has gone')];
        expect(await rejectionOf(store.put(key, aFailingStream(length, error), OPTIONS))).toBe(error);
        await expectNothingLeft(key);
      });

      it('and too long by a byte leaves nothing, and is destroyed', async () => {
        const [key, source] = [aKey(), aStream(length)];
        expect(await kindOf(store.put(key, source, { ...OPTIONS, maxBytes: length - 1 }))).toBe('too_large');
        expect(source.destroyed).toBe(true);
        await expectNothingLeft(key);
        await store.put(key, aStream(length), { ...OPTIONS, maxBytes: length });
      });

      it.each([-1, 1])('and not of the length that was promised, by %i, leaves nothing', async (more) => {
        const [key, source] = [aKey(), aStream(length)];
        expect(await kindOf(store.put(key, source, { ...OPTIONS, bytes: length - more }))).toBe('wrong_length');
        expect(source.destroyed).toBe(true);
        await expectNothingLeft(key);
      });

      it('and then silent leaves nothing, and is destroyed', async () => {
        const [key, source] = [aKey(), aStallingStream(length)];
        await withImpatientStore(async (impatient) => {
          expect(await kindOf(impatient.put(key, source, OPTIONS))).toBe('stalled');
        });
        expect(source.destroyed).toBe(true);
        await expectNothingLeft(key);
      });

      it('and destroyed by its owner leaves nothing', async () => {
        const [key, source] = [aKey(), anOpenStream(length)];
        const put = rejectionOf(store.put(key, source, OPTIONS));
        await pause(100);
        source.destroy();
        expect(await put).toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
        await expectNothingLeft(key);
      });
    });

    it('reads nothing of a stream that is promised to be too long', async () => {
      const [key, source] = [aKey(), aStream(100)];
      expect(await kindOf(store.put(key, source, { ...OPTIONS, maxBytes: 99, bytes: 100 }))).toBe('too_large');
      expect(source.readableDidRead).toBe(false);
      expect(source.destroyed).toBe(true);
    });

    it('has neither head nor content of what is missing', async () => {
      const key = aKey();
      expect(await store.head(key)).toBeUndefined();
      expect(await kindOf(store.get(key))).toBe('missing');
      expect(await kindOf(store.get(key, { start: 0, end: 1 }))).toBe('missing');
    });

    it('deletes for good, again and again, and then takes the key anew', async () => {
      const key = aKey();
      await store.delete(key);
      await store.put(key, aStream(10), OPTIONS);
      await Promise.all([store.delete(key), store.delete(key)]);
      await store.delete(key);
      await expectNothingLeft(key);
      await store.put(key, aStream(11), OPTIONS);
      expect(await store.head(key)).toMatchObject({ bytes: 11 });
    });

    it('puts and deletes side by side under one folder', async () => {
      const folder = `tests/${randomUUID()}`;
      const rounds = Array.from({ length: 20 }, async (_, n) => {
        const key = `${folder}/deep/${n % 4}/clip-${n}.mp4`;
        await store.put(key, aStream(n), OPTIONS);
        await store.delete(key);
      });
      await Promise.all(rounds);
      expect(await keysOf(store.list(folder))).toEqual([]);
    });

    it('lists by the beginnings of keys, folders among files', async () => {
      const folder = `tests/${randomUUID()}`;
      const keys = ['a/b.mp4', 'a-1.mp4', 'a.mp4', 'a/b/c.mp4', 'a0.mp4', 'b.mp4', 'a/b-c.mp4'].map(
        (key) => `${folder}/${key}`,
      );
      for (const key of keys) await store.put(key, aStream(1), OPTIONS);
      const listed = (prefix: string) => keysOf(store.list(folder + prefix));
      const expected = (prefix: string) => keys.filter((key) => key.startsWith(folder + prefix)).sort();
      for (const prefix of ['', '/', '/a', '/a/', '/a/b', '/a/b/', '/a.', '/b.mp4', '/c', '/a/b/c.mp4'])
        expect({ prefix, keys: await listed(prefix) }).toEqual({ prefix, keys: expected(prefix) });
    });

    it.each([
      '',
      '/etc/passwd.txt',
      '../clip.mp4',
      'a/../../clip.mp4',
      'a/..',
      'a/./clip.mp4',
      'a//clip.mp4',
      'clip',
      '.clip.mp4',
      'a/.clip.mp4',
      'a.b/clip.mp4',
      'clip.mp4/',
      'clip..mp4',
      'a\\clip.mp4',
      'a/clip.mp4\0',
      'a/clip.mp4\n',
      'ä/clip.mp4',
      `${'x'.repeat(129)}/clip.mp4`,
      `${'x'.repeat(126)}.mp4`,
    ])('takes %j for no key, whatever is wanted of it', async (key) => {
      const source = aStream(1);
      await expect(store.put(key, source, OPTIONS)).rejects.toThrow(TypeError);
      source.destroy();
      await expect(store.get(key)).rejects.toThrow(TypeError);
      await expect(store.head(key)).rejects.toThrow(TypeError);
      await expect(store.delete(key)).rejects.toThrow(TypeError);
    });

    it.each(['/', '..', '../', 'a/../', 'a//', 'ä'])('takes %j for the beginning of no key', async (prefix) => {
      expect(() => store.list(prefix)).toThrow(TypeError);
      await expect(store.removeUnfinished(prefix, new Date())).rejects.toThrow(TypeError);
    });

    it('removes what a dead put left behind, by the beginning of its key and by its age', async () => {
      const folder = `tests/${randomUUID()}`;
      await underTest().leaveUnfinished(`${folder}/left/clip.mp4`);
      const longAgo = new Date(Date.now() - 600_000);
      const soon = new Date(Date.now() + 600_000);
      expect(await keysOf(store.list(folder))).toEqual([]);
      expect(await store.head(`${folder}/left/clip.mp4`)).toBeUndefined();
      expect(await store.removeUnfinished(folder, longAgo)).toBe(0);
      expect(await store.removeUnfinished(`${folder}/right`, soon)).toBe(0);
      expect(await store.removeUnfinished(folder, soon)).toBe(1);
      expect(await store.removeUnfinished(folder, soon)).toBe(0);
    });

    it('waits for a slow reader', async () => {
      const key = aKey();
      const stored = await store.put(key, aStream(LARGE_BYTES), OPTIONS);
      await withImpatientStore(async (impatient) => {
        const { content } = await impatient.get(key);
        await pause(2 * IMPATIENT_MS);
        content.once('data', () => {
          content.pause();
          setTimeout(() => content.resume(), 2 * IMPATIENT_MS);
        });
        let bytes = 0;
        content.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        await until('the content to end', () => content.readableEnded);
        expect(bytes).toBe(stored.bytes);
      });
    });

    it('lets go of contents that nobody reads to their end', async () => {
      const few = await underTest().open({ idleTimeoutMs: 30_000, connections: 2 });
      const key = aKey();
      const stored = await few.put(key, aStream(LARGE_BYTES), OPTIONS);
      for (let n = 0; n < 10; n += 1) {
        const { content } = await few.get(key);
        if (n % 2 === 0) await new Promise((resolve) => content.once('data', resolve));
        content.destroy();
      }
      expect(await summarize((await few.get(key)).content)).toEqual(stored);
      await few.close();
    });
  });
}

/** Tests that take the longer the more there is: many objects to list, and a large one. */
export function describeFullStore(
  name: string,
  underTest: () => Pick<ObjectStoreUnderTest, 'settings' | 'open'>,
  { objects, mib }: { objects: number; mib: number },
): void {
  describe(`object store contract, with much in it: ${name}`, () => {
    let store: ObjectStore;
    beforeAll(async () => {
      store = await underTest().open({ idleTimeoutMs: 30_000, connections: 16 });
    });
    afterAll(() => store.close());

    it(`lists ${objects} objects, each once and in the order of the keys`, async () => {
      const folder = `tests/${randomUUID()}`;
      const keys = Array.from({ length: objects }, (_, n) => `${folder}/${n % 3}/clip-${n}.mp4`);
      for (let at = 0; at < keys.length; at += 50)
        await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, aStream(3), OPTIONS)));
      expect(await keysOf(store.list(`${folder}/`))).toEqual(keys.toSorted());
      // A reader may stop early.
      for await (const { bytes, modifiedAt } of store.list(folder)) {
        expect(bytes).toBe(3);
        expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(600_000);
        break;
      }
    });

    it(`holds little of ${mib} MiB in memory, on the way in and on the way out`, async () => {
      const { putBytes, readBytes } = await measureMemory(underTest().settings, aKey(), mib * MIB);
      // A part, its copy while it is put together, and what the streams have in hand.
      expect(putBytes).toBeLessThan(16 * MIB);
      expect(readBytes).toBeLessThan(16 * MIB);
    });
  });
}
