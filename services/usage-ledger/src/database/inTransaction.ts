import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '@turnpike/lifecycle/backoff';
import { isConflict } from '@turnpike/postgres/databaseFailure';
import type { Prisma } from '../generated/client.ts';
import type { Db } from './createDb.ts';

export type Transaction = Prisma.TransactionClient;

const MAX_RETRIES = 5;
const BACKOFF = { firstMs: 20, longestMs: 320 };
const MAX_WAIT_MS = 5_000;
const TIMEOUT_MS = 60_000;

/**
 * Runs `work` in one transaction. A deadlock or serialisation failure is tried again, up to 5 times with jitter, so `work`
 * may run several times and must have no effect but on the database.
 */
export const inTransaction = <T>(db: Db, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  retryConflicts(() => db.$transaction(work, { maxWait: MAX_WAIT_MS, timeout: TIMEOUT_MS }));

/** Does the same for what is a transaction by itself: a single statement. */
export async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isConflict(error) || retries === MAX_RETRIES) throw error;
      await delay(backoffMs(retries, BACKOFF));
    }
  }
}
