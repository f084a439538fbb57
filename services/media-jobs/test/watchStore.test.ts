import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import type { ObjectStore, StoredBytes } from '@turnpike/object-store/objectStore';
import { ObjectStoreError, unavailable } from '@turnpike/object-store/objectStoreError';
import { until } from '@turnpike/test-support/until';
import { watchStore } from '../src/jobs/watchStore.ts';

/** The answer of the store. */
let answer: () => Promise<undefined>;
/** The outcome of the next put. */
let stored: () => Promise<StoredBytes>;
let failures: number;
let watch: ReturnType<typeof watchStore<Pick<ObjectStore, 'head' | 'put'>>>;
beforeEach(() => {
  answer = async () => undefined;
  stored = async () => ({ bytes: 0, sha256: '' });
  failures = 0;
  watch = watchStore(
    { head: () => answer(), put: () => stored() },
    {
      metrics: {
        storeFailed() {
          failures += 1;
        },
      },
      log: createLogger({ service: 'test', level: 'silent' }),
      roundMs: 10,
      refusedMs: 5_000,
    },
  );
});
afterEach(() => watch.close());

it.each<[string, () => Promise<undefined>]>([
  ['refuses', () => Promise.reject(new ObjectStoreError('unavailable', { reason: 'broken_off' }))],
  ['hangs', () => Promise.withResolvers<undefined>().promise],
])('names a store that %s, counts that, and names it no more once it answers', async (_how, trouble) => {
  expect(watch.listWarnings()).toEqual([]);
  answer = trouble;
  const [warning] = await until('a warning', async () => {
    const found = watch.listWarnings();
    return found.length > 0 ? found : undefined;
  });
  expect(warning).toEqual({
    kind: 'object_store_away',
    subject: 'OBJECT_STORE',
    text: expect.stringMatching(/^the object store gives no answer of use since 20\S+Z: what was made waits for it$/),
  });
  expect(failures).toBeGreaterThan(0);
  answer = async () => undefined;
  await until('no warning', async () => watch.listWarnings().length === 0);
});

const put = () => watch.store.put('jobs/a/b.bin', Readable.from([]), { contentType: 'text/plain', maxBytes: 1 });

it('names a store that answers and refuses writes, counts that, and names it no more after a while without a refusal', async () => {
  const refusal = unavailable('failing');
  stored = () => Promise.reject(refusal);
  await expect(put()).rejects.toBe(refusal);
  expect(watch.listWarnings()).toEqual([
    {
      kind: 'object_store_away',
      subject: 'OBJECT_STORE',
      text: expect.stringMatching(
        /^the object store refuses writes \(failing\), last at 20\S+Z, perhaps because it is full: what was made waits for it$/,
      ),
    },
  ]);
  expect(failures).toBe(1);
  await until('no warning', async () => watch.listWarnings().length === 0);
});

it('names no store for what is wrong with an object', async () => {
  stored = () => Promise.reject(new ObjectStoreError('too_large'));
  await expect(put()).rejects.toThrow('too_large');
  expect(watch.listWarnings()).toEqual([]);
  expect(failures).toBe(0);
});
