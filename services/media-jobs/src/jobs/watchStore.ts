import type { Warning } from '@turnpike/http-service/healthRoutes';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { ObjectStoreError, type UnavailableReason, unavailable } from '@turnpike/object-store/objectStoreError';
import type { JobDependencies } from './dependencies.ts';
import { isStoreDown } from './work/storeFile.ts';

const ROUND_MS = 2_000;
/** Longest wait for one check. */
const LOOK_MS = 2_000;
/** A key that no job has. */
const NOBODYS = 'looks/none.bin';
/** Time for which a refused write is named: longer than a job pauses between two tries. */
const REFUSED_MS = 30_000;
/** Reasons of a store that answers, as one that is full does. */
const REFUSALS: readonly (UnavailableReason | undefined)[] = ['overloaded', 'failing', 'refused'];

export interface StoreWatch extends Pick<Repetition, 'close'> {
  /** Returns a warning while the object store gives no usable answer or refuses writes, with its start. */
  listWarnings(): Warning[];
}

/**
 * Checks every two seconds whether the object store answers, so that an outage is known before a job needs the store.
 * Returns the store with a `put` that counts failures and remembers a refusal, because a full store still answers.
 */
export function watchStore<Store extends Pick<ObjectStore, 'head' | 'put'>>(
  store: Store,
  {
    metrics,
    log,
    roundMs = ROUND_MS,
    refusedMs = REFUSED_MS,
  }: { metrics: Pick<JobDependencies['metrics'], 'storeFailed'>; roundMs?: number; refusedMs?: number } & Pick<
    JobDependencies,
    'log'
  >,
): StoreWatch & { store: Store } {
  let awaySince: Date | undefined;
  /** The last refused write. */
  let refused: { at: Date; reason: UnavailableReason | undefined } | undefined;

  async function look(): Promise<void> {
    const { promise: passed, reject } = Promise.withResolvers<never>();
    const { stop } = startDeadline(LOOK_MS, () => reject(unavailable('deadline')));
    try {
      await Promise.race([store.head(NOBODYS), passed]);
      awaySince = undefined;
    } catch (error) {
      awaySince ??= new Date();
      metrics.storeFailed();
      throw error;
    } finally {
      stop();
    }
  }

  const put: ObjectStore['put'] = async (...args) => {
    try {
      return await store.put(...args);
    } catch (error) {
      if (isStoreDown(error)) metrics.storeFailed();
      const reason = error instanceof ObjectStoreError ? error.reason : undefined;
      if (REFUSALS.includes(reason)) refused = { at: new Date(), reason };
      throw error;
    }
  };

  function describeTrouble(): string | undefined {
    if (awaySince) return `gives no answer of use since ${awaySince.toISOString()}`;
    if (!refused || Date.now() - refused.at.getTime() > refusedMs) return undefined;
    return `refuses writes (${refused.reason}), last at ${refused.at.toISOString()}, perhaps because it is full`;
  }

  const { close } = repeat(look, { pauseMs: roundMs, log, failing: 'the object store does not answer' });
  return {
    close,
    store: { ...store, put },
    listWarnings() {
      const trouble = describeTrouble();
      if (trouble === undefined) return [];
      const text = `the object store ${trouble}: what was made waits for it`;
      return [{ kind: 'object_store_away', subject: 'OBJECT_STORE', text }];
    },
  };
}
