import { pause } from '@turnpike/lifecycle/pause';
import { createPool } from './createPool.ts';
import { isCertificateRefused, isUnreachable } from './databaseFailure.ts';

const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;
/** Longest for one attempt, with a connection made and one without: nobody who asks it later waits for longer. */
const ANSWER_MS = 5_000;

export interface AwaitedDatabase {
  /** Shown in `pg_stat_activity`. */
  service: string;
  databaseUrl: string;
  /** Told in one line what is waited for, where it has to be. */
  say: (line: string) => void;
  /** Shorter for tests. */
  patienceMs?: number;
}

/**
 * Resolves once a Postgres at the address answers, also with a refusal, which the next query then reports. Throws an error of one
 * line if none answers for 30 s. Services use it at their start, because a container may run some seconds before its network works.
 * A container that exits meanwhile is restarted only after growing pauses.
 */
export async function untilDatabaseAnswers(database: AwaitedDatabase): Promise<void> {
  const { service, databaseUrl, say, patienceMs = PATIENCE_MS } = database;
  const { host, pathname } = new URL(databaseUrl);
  const place = `the database at ${host}${pathname}`;
  const pool = createPool({
    service,
    databaseUrl,
    poolSize: 1,
    statementTimeoutMs: ANSWER_MS,
    waitTimeoutMs: ANSWER_MS,
  });
  const until = performance.now() + patienceMs;
  let isTold = false;
  try {
    for (;;) {
      const failure = await pool.query('SELECT 1').then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined || !isUnreachable(failure) || isCertificateRefused(failure)) return;
      if (performance.now() >= until)
        throw new Error(`${service} cannot start: ${place} does not answer: ${wordsOf(failure)}`, { cause: failure });
      if (!isTold) say(`${place} does not answer: trying for ${patienceMs / 1_000} s`);
      isTold = true;
      await pause(PAUSE_MS, new AbortController().signal);
    }
  } finally {
    await pool.end();
  }
}

/** A name that has several addresses has an error for each. */
function wordsOf(error: unknown): string {
  const { message, errors } = error as Error & { errors?: unknown[] };
  return errors ? errors.map(wordsOf).join('; ') : message;
}
