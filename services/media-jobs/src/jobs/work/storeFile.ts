import { pause } from '@turnpike/lifecycle/pause';
import { backoffMs } from '@turnpike/lifecycle/repeat';
import { ObjectStoreError } from '@turnpike/object-store/objectStoreError';
import type { TakenFile } from '../../media/privateFile.ts';
import type { StoredOutput } from '../../terms/job.ts';
import type { JobDependencies } from '../dependencies.ts';
import { outputKeyOf } from '../jobNames.ts';
import type { HeldJob } from './heldJob.ts';

/** A file on this disk that is ready to be stored, and its measures. */
export type MadeFile = Omit<TakenFile, 'bytes'> & Pick<StoredOutput, 'width' | 'height' | 'seconds'>;

const BACKOFF = { firstMs: 500, longestMs: 15_000 };
const LARGEST_BYTES = 512 * 1_048_576;

/**
 * Stores a file, and retries for as long as this worker has the job. After a failed try the object may be there or not, so that each try
 * has a key of its own. The objects of failed tries are removed with the job's folder.
 */
export async function storeFile(
  held: HeldJob,
  { made, index }: { made: Omit<MadeFile, 'discard'>; index: number },
  { store, metrics, log }: Pick<JobDependencies, 'store' | 'metrics' | 'log'>,
): Promise<StoredOutput> {
  const { jobId, version } = held.row;
  for (let tries = 0; ; tries += 1) {
    held.signal.throwIfAborted();
    const key = outputKeyOf(jobId, { version, tries, index, extension: toExtension(made.type) });
    try {
      const stored = await store.put(key, made.read(), {
        contentType: made.type,
        maxBytes: LARGEST_BYTES,
      });
      metrics.bytesStored('output', stored.bytes);
      const { width, height, seconds } = made;
      return {
        key,
        ...stored,
        type: made.type,
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
        ...(seconds !== undefined && { seconds }),
      };
    } catch (error) {
      if (!isStoreDown(error)) throw error;
      if (tries === 0) log.warn({ err: error, jobId }, 'the object store takes nothing; what was made waits for it');
      await pause(backoffMs(tries, BACKOFF), held.signal);
    }
  }
}

/** Returns the extension of a key, for operators who read the store. */
export const toExtension = (type: string): string => type.split('/')[1]?.replace(/[^a-z0-9]/g, '') || 'bin';

export const isStoreDown = (error: unknown): boolean =>
  error instanceof ObjectStoreError && (error.kind === 'unavailable' || error.kind === 'stalled');
