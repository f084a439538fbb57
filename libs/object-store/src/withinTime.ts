import type { ObjectStoreError } from './objectStoreError.ts';

/**
 * Rejects with `late` where the work takes longer, and fires the signal with it; what becomes of the work then is nobody's concern.
 * It need not heed the signal: an answer that has begun is read on, and a stream that waits for its maker cannot be ended.
 */
export async function withinTime<Result>(
  timeoutMs: number,
  late: () => ObjectStoreError,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = late();
    reject(error);
    deadline.abort(error);
  }, timeoutMs);
  try {
    return await Promise.race([work(deadline.signal), passed]);
  } finally {
    clearTimeout(timer);
  }
}
