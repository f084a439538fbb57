import type { Db } from './createDb.ts';

/** Settings under which a commit is on disk before it is acknowledged. */
const DURABLE = new Set(['on', 'remote_write', 'remote_apply']);

/**
 * Throws unless commits are durable: the event log's records are let go once they are committed here, so a commit that a
 * crash undoes would lose calls. Also throws when the database does not answer.
 */
export async function assertDurableCommits(db: Db): Promise<void> {
  const rows = await db.$queryRaw<{ synchronous_commit: string }[]>`SHOW synchronous_commit`.catch((error: unknown) => {
    throw new Error('usage-ledger cannot start: its database does not answer', { cause: error });
  });
  const setting = rows[0]?.synchronous_commit ?? 'unknown';
  if (!DURABLE.has(setting)) {
    throw new Error(`usage-ledger cannot start: synchronous_commit is "${setting}" in its database and must be "on"`);
  }
}
