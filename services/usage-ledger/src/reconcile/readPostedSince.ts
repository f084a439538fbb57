import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { AbsorbedWorkspace } from '../balances/absorb.ts';
import type { PostedSince } from './compareWithRedis.ts';

/**
 * Returns the postings to a workspace after Redis' positions, as of the state that `books` has. Postings of the release before
 * have no position. A sum of Redis from among them is unknown until Redis takes over a newer one.
 */
export async function readPostedSince(
  db: Queryable,
  counters: RedisCounters,
  { timeline, books }: { timeline: number; books: AbsorbedWorkspace },
): Promise<PostedSince> {
  const { workspaceId } = books;
  const behind = Object.entries(counters.keys).filter(
    ([keyId, { spent_nano_usd: spent, timeline: of }]) =>
      spent !== null && of === timeline && spent !== (books.spentNanoUsdByKey.get(keyId) ?? 0n),
  );
  const places = behind.map(([, { seq }]) => seq ?? 0);
  const walletSeq = counters.seq ?? 0;
  const lowest = Math.min(walletSeq, ...places);
  const [row] = await db.query(sql<{ wallet: string; keys: Record<string, string>; isPlaced: boolean }>`
    WITH since AS MATERIALIZED (
      SELECT seq, key_id, wallet_nano_usd, counter_nano_usd FROM posting WHERE workspace_id = ${workspaceId} AND seq > ${lowest}
    )
    SELECT
      (SELECT coalesce(sum(wallet_nano_usd), 0)::TEXT FROM since WHERE seq > ${walletSeq}) AS "wallet",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge::TEXT) FROM (
          SELECT key_id, sum(counter_nano_usd) AS charge
          FROM since JOIN unnest(${behind.map(([keyId]) => keyId)}::TEXT[], ${places.map(String)}::BIGINT[]) AS place (key_id, of_key)
            USING (key_id)
          WHERE seq > of_key GROUP BY 1
        ) AS charged
      ), '{}') AS "keys",
      NOT EXISTS (SELECT FROM posting WHERE workspace_id = ${workspaceId} AND seq = 0)
        OR ${lowest} >= (SELECT min(seq) - 1 FROM posting WHERE workspace_id = ${workspaceId} AND seq > 0) AS "isPlaced"`);
  const charged = Object.entries(row?.keys ?? {}).map(([keyId, charge]) => [keyId, BigInt(charge)] as const);
  return {
    walletNanoUsd: row?.isPlaced ? BigInt(row.wallet) : undefined,
    chargedNanoUsdByKey: new Map(charged),
  };
}
