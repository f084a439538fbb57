import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { ObjectStoreError } from '@turnpike/object-store/objectStoreError';
import { until } from '@turnpike/test-support/until';
import { type StoreWatch, watchStore } from '../src/jobs/watchStore.ts';

/** The answer of the store. */
let answer: () => Promise<undefined>;
let failures: number;
let watch: StoreWatch;
beforeEach(() => {
  answer = async () => undefined;
  failures = 0;
  watch = watchStore(
    { head: () => answer() },
    {
      metrics: {
        storeFailed() {
          failures += 1;
        },
      },
      log: createLogger({ service: 'test', level: 'silent' }),
      roundMs: 10,
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
