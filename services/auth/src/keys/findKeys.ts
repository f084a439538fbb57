import { type KeyState, PLAYGROUND_KEY_NAME } from '@turnpike/console-api/console/keys';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabases.ts';
import type { KeyDetails } from './keyDetails.ts';

export interface KeySearch {
  /** A part of the name in any case, or the last four characters. The empty text is in each name. */
  find: string;
  /** Undefined for all. */
  states: readonly KeyState[] | undefined;
  /** Undefined for all. */
  ids: readonly string[] | undefined;
  /** Leaves out expired and revoked keys that the playground made. */
  leavesOutEndedPlayground: boolean;
  skip: number;
  take: number;
}

/** One page of the keys that match, the newest first, with the count of them all and of those that were left out. */
export interface FoundKeys {
  keys: KeyDetails[];
  found: number;
  leftOut: number;
}

/** Finds keys of a workspace. */
export async function findKeys(
  db: Db,
  workspaceId: string,
  { find, leavesOutEndedPlayground, skip, take, ...only }: KeySearch,
): Promise<FoundKeys> {
  const [states, ids] = [only.states ?? null, only.ids ?? null];
  const [row] = await db.query(sql<{ found: bigint; leftOut: bigint; keyIds: string[] | null }>`
    WITH of_workspace AS (
      SELECT key_id, name, last_four, created_at,
        CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END AS state
      FROM api_key
      WHERE workspace_id = ${workspaceId} AND (${ids}::TEXT[] IS NULL OR key_id = ANY(${ids}::TEXT[]))
    ), matching AS (
      SELECT key_id, created_at,
        ${leavesOutEndedPlayground} AND name = ${PLAYGROUND_KEY_NAME} AND state IN ('expired', 'revoked') AS is_left_out
      FROM of_workspace
      WHERE (${states}::TEXT[] IS NULL OR state = ANY(${states}::TEXT[]))
        AND (position(lower(${find}::TEXT COLLATE pg_c_utf8) IN lower(name COLLATE pg_c_utf8)) > 0 OR lower(last_four) = lower(${find}))
    )
    SELECT count(*) FILTER (WHERE NOT is_left_out) AS "found", count(*) FILTER (WHERE is_left_out) AS "leftOut",
      (array_agg(key_id ORDER BY created_at DESC, key_id DESC) FILTER (WHERE NOT is_left_out))[${skip + 1}::INT:${skip + take}::INT]
        AS "keyIds"
    FROM matching`);
  const keyIds = row?.keyIds ?? [];
  const details = await db.apiKey.findMany({ where: { keyId: { in: keyIds } } });
  const detailsOf = new Map(details.map((key) => [key.keyId, key]));
  return {
    keys: keyIds.flatMap((keyId) => detailsOf.get(keyId) ?? []),
    found: Number(row?.found ?? 0),
    leftOut: Number(row?.leftOut ?? 0),
  };
}
