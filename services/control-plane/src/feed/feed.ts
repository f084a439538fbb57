import { createHash } from 'node:crypto';
import type { SigningKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { type feedEntry, PAGE_ENTRIES, signPage } from '@turnpike/feed/feedPage';
import { sql } from '@turnpike/postgres/sql';
import type { z } from 'zod';
import type { Db, Tx } from '../database/openDatabase.ts';

type WithoutSeq<Entry> = Entry extends unknown ? Omit<Entry, 'seq'> : never;
/** An entry before it has its place. Amounts are texts. */
export type NewEntry = WithoutSeq<z.input<typeof feedEntry>>;

/** Names the lock of a region's feed among the advisory locks of the database. */
const lockOf = (region: Region): bigint => createHash('sha256').update(`feed of ${region}`).digest().readBigInt64BE();

/**
 * Tells a region of a change, in the transaction of the change. Transactions that tell one region take turns until they commit, so that
 * a reader never sees an entry before the one ahead of it.
 */
export async function tell(tx: Tx, region: Region, entry: NewEntry): Promise<void> {
  await tx.$queryRaw(sql`SELECT 1 AS one FROM pg_advisory_xact_lock(${lockOf(region)})`);
  await tx.$executeRaw(sql`
    INSERT INTO feed (region, seq, body, chain)
    SELECT ${region}, coalesce(last.seq, 0) + 1, body,
      encode(sha256(convert_to(coalesce(last.chain, '') || body::TEXT, 'UTF8')), 'hex')
    FROM (SELECT ${JSON.stringify(entry)}::JSONB AS body) AS told
    LEFT JOIN (SELECT seq, chain FROM feed WHERE region = ${region} ORDER BY seq DESC LIMIT 1) AS last ON true`);
}

/** Reads the entries of a region's feed behind `after`, and signs them. */
export async function readPage(
  db: Db,
  { region, after }: { region: Region; after: number },
  key: SigningKey,
): Promise<string> {
  // One snapshot: `last` belongs to the entries beside it.
  const [page] = await db.query(sql<{ epoch: string; last: number; chain: object; entries: unknown[] }>`
    WITH next AS (SELECT seq, body, chain FROM feed WHERE region = ${region} AND seq > ${after} ORDER BY seq LIMIT ${PAGE_ENTRIES}),
      before AS (SELECT chain FROM feed WHERE region = ${region} AND seq = ${after})
    SELECT epoch::text AS epoch,
      (SELECT coalesce(max(seq), 0) FROM feed WHERE region = ${region}) AS last,
      jsonb_build_object(
        'before', coalesce((SELECT chain FROM before), ''),
        'end', coalesce((SELECT coalesce(chain, '') FROM next ORDER BY seq DESC LIMIT 1), (SELECT chain FROM before), '')
      ) AS chain,
      (SELECT coalesce(jsonb_agg(body || jsonb_build_object('seq', seq) ORDER BY seq), '[]'::jsonb) FROM next) AS entries
    FROM feed_epoch`);
  if (!page) throw new Error('the account database has no epoch');
  return signPage({ region, after, ...page } as Parameters<typeof signPage>[0], key);
}
