import {
  DIGEST_WORKSPACES,
  type FeedDigest,
  hashState,
  verifyDigest,
  type WorkspaceState,
} from '@turnpike/feed/feedDigest';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabases.ts';
import type { WorkspaceFollower } from './followWorkspaces.ts';

/** Between two digests. A region with 10,000 workspaces is compared within ten minutes. */
const PAUSE_MS = 10_000;
const BACKOFF = { firstMs: PAUSE_MS, longestMs: 60_000 };
const ANSWER_TIMEOUT_MS = 5_000;
/** Differing workspaces that are remembered. */
const MOST = 1_000;

export interface WorkspaceComparer
  extends Pick<WorkspaceFollower, 'url' | 'internalHeaders' | 'keys' | 'region' | 'db' | 'meter' | 'log'> {
  /** The follower of the feed. */
  following: Pick<Repetition, 'now'>;
}

/**
 * Compares the account layer's side of the region's workspaces with the rows of the account layer, some at a time and round again. A
 * difference is a change that wrote no entry of the feed, or a database that was restored. Changes nothing. Workspaces that the region
 * alone has do not count, because a restored account database may lack some.
 */
export function compareWorkspaces({
  url,
  internalHeaders,
  keys,
  region,
  db,
  following,
  meter,
  log,
}: WorkspaceComparer): Repetition | undefined {
  if (url === undefined) return undefined;
  const client = createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: ANSWER_TIMEOUT_MS });
  const differing = new Set<string>();
  /** Those of this round. */
  const foundInRound = new Set<string>();
  meter
    .createObservableGauge('turnpike_feed_digest_differing', {
      description:
        'Workspaces of the region that are not as the account layer has them, of those compared last: 1000 are that or more.',
    })
    .addCallback((result) => result.observe(differing.size));

  let after = '';
  async function compare(): Promise<void> {
    const signed = (await client.readFeedDigest({ params: { after } })).digest;
    const digest = await verifyDigest(signed, { keys, region, after });
    await following.now();
    const found = await findDiffering(db, digest);
    // An entry arrived in between. The same workspaces are compared again.
    if (!found) return;
    const fresh = found.filter((id) => !differing.has(id));
    for (const { workspace_id: id } of digest.workspaces) differing.delete(id);
    for (const id of found.slice(0, MOST - differing.size)) {
      differing.add(id);
      foundInRound.add(id);
    }
    if (fresh.length > 0)
      log.error(
        { workspaceIds: fresh },
        'ALERT workspaces are not as the account layer has them: no entry of its feed says so',
      );
    after = digest.workspaces.length < DIGEST_WORKSPACES ? '' : (digest.workspaces.at(-1)?.workspace_id ?? '');
    if (after !== '') return;
    // The account layer has the others no more.
    for (const id of differing) if (!foundInRound.has(id)) differing.delete(id);
    foundInRound.clear();
  }
  return repeat(compare, {
    pauseMs: PAUSE_MS,
    backoff: BACKOFF,
    log,
    failing: 'workspaces are not compared with those of the account layer',
  });
}

/**
 * Returns the ids of the digest whose workspaces have another hash here, or are not there. Returns undefined unless the region has
 * applied the feed to the very end that the digest is of.
 */
const findDiffering = (db: Db, { epoch, last, workspaces }: FeedDigest): Promise<string[] | undefined> =>
  db.snapshot(async (tx) => {
    const [cursor] = await tx.query(sql<{ epoch: string | null; seq: number }>`SELECT epoch, seq FROM feed_cursor`);
    if (cursor?.epoch !== epoch || cursor.seq !== last) return undefined;
    const rows = await tx.query(sql<WorkspaceState>`
      SELECT workspace_id AS "workspaceId", organization_id AS "organizationId", account_status AS status,
        account_cap_nano_usd AS "monthlyCapNanoUsd"
      FROM workspace WHERE workspace_id = ANY(${workspaces.map(({ workspace_id: id }) => id)})`);
    const hashes = new Map(rows.map((row) => [row.workspaceId, hashState(row)]));
    return workspaces.filter(({ workspace_id: id, hash }) => hashes.get(id) !== hash).map(({ workspace_id: id }) => id);
  });
