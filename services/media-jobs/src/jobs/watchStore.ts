import type { Warning } from '@turnpike/http-service/healthRoutes';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import { unavailable } from '@turnpike/object-store/objectStoreError';
import type { JobDependencies } from './dependencies.ts';

const ROUND_MS = 2_000;
/** Longest wait for one look. */
const LOOK_MS = 2_000;
/** A key that no job has. */
const NOBODYS = 'looks/none.bin';

export interface StoreWatch extends Pick<Repetition, 'close'> {
  /** Says since when the object store gives no answer of use, and nothing while it does. */
  listWarnings(): Warning[];
}

/** Looks every two seconds whether the object store answers, so that one that is away is known before a job needs it. */
export function watchStore(
  store: Pick<JobDependencies['store'], 'head'>,
  {
    metrics,
    log,
    roundMs = ROUND_MS,
  }: { metrics: Pick<JobDependencies['metrics'], 'storeFailed'>; roundMs?: number } & Pick<JobDependencies, 'log'>,
): StoreWatch {
  let awaySince: Date | undefined;

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

  const { close } = repeat(look, { pauseMs: roundMs, log, failing: 'the object store does not answer' });
  return {
    close,
    listWarnings() {
      if (!awaySince) return [];
      const text = `the object store gives no answer of use since ${awaySince.toISOString()}: what was made waits for it`;
      return [{ kind: 'object_store_away', subject: 'OBJECT_STORE', text }];
    },
  };
}
