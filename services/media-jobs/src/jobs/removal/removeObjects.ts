import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { folderOf, textKeyOf } from '../jobNames.ts';

/** More rounds mean that a worker still stores. */
const MAX_ROUNDS = 3;

/**
 * Removes all objects of a job: the key of its texts first, and the objects of late workers too. Resolves once the store lists no object and
 * has no key; rejects otherwise. May be called any number of times.
 */
export async function removeObjects(
  store: Pick<ObjectStore, 'delete' | 'list' | 'head'>,
  jobId: string,
): Promise<void> {
  await store.delete(textKeyOf(jobId));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    let found = 0;
    for await (const { key } of store.list(folderOf(jobId))) {
      found += 1;
      await store.delete(key);
    }
    if (found === 0 && (await store.head(textKeyOf(jobId))) === undefined) return;
  }
  throw new Error('objects of a job are there again after they were removed');
}
