import { sql } from '@turnpike/postgres/sql';
import type { Db } from './createDb.ts';

/**
 * Values of `synchronous_commit` with which a commit is on disk, here and on a synchronous standby, before it is
 * acknowledged.
 */
const DURABLE = new Set(['on', 'remote_write', 'remote_apply']);

/**
 * Throws unless commits are durable. Recorded events are removed everywhere else, so a commit that a crash undoes, or
 * that a standby lacks, loses calls. Throws also if the database does not answer.
 */
export async function assertDurableCommits(db: Db, { copies }: { copies: 'one' | 'several' }): Promise<void> {
  const rows = await db
    .query(sql<{ commit: string; standbys: string }>`
    SELECT current_setting('synchronous_commit') AS "commit", current_setting('synchronous_standby_names') AS "standbys"`)
    .catch((error: unknown) => {
      throw new Error('usage-ledger cannot start: its database does not answer', { cause: error });
    });
  const { commit = 'unknown', standbys = '' } = rows[0] ?? {};
  if (!DURABLE.has(commit))
    throw new Error(`usage-ledger cannot start: synchronous_commit is "${commit}" in its database and must be "on"`);
  if (copies === 'several' && standbys === '')
    throw new Error(
      'usage-ledger cannot start: synchronous_standby_names is empty in its database, so a failover loses commits;' +
        ' where its disk is replicated, or on a laptop, set STORE_COPIES=one',
    );
}
