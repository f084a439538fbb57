import type { Db } from './createDb.ts';

const TIMEOUT_MS = 10 * 60 * 1_000;

/** Runs `work` on one state of the database, however long its statements take. */
export const inOneSnapshot = <T>(db: Db, work: (tx: Pick<Db, '$queryRaw' | '$executeRaw'>) => Promise<T>): Promise<T> =>
  db.$transaction(work, { isolationLevel: 'RepeatableRead', timeout: TIMEOUT_MS });
