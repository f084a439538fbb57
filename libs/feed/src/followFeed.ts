import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { type Database, type Queryable, retryConflicts } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import { type FeedEntry, type FeedPage, PAGE_ENTRIES, verifyPage } from './feedPage.ts';

/** The last applied entry of the feed. Before the first page the epoch is null. */
interface Cursor {
  epoch: string | null;
  seq: number;
  /** The hash over the applied entries, as the control plane gave it. Null: not known. */
  chain: string | null;
}

export interface FeedFollower {
  /** The internal listener of the control plane. Undefined: the region follows no feed. */
  url: string | undefined;
  internalHeaders: InternalHeaders;
  keys: PublicKey[];
  region: Region;
  /** A database with the table `feed_cursor`. */
  db: Pick<Database, 'query' | 'transaction'>;
  /**
   * Applies an entry in the transaction that moves the cursor. Repeats and older versions change nothing. Throws `FeedRefused` for an
   * entry that contradicts the database.
   */
  applyEntry: (tx: Queryable, entry: FeedEntry) => Promise<void>;
  /** Tells the gate of applied entries, after each poll, failed ones too. */
  tellGate?: () => Promise<void>;
  meter: Meter;
  log: Logger;
}

/** An entry reaches a region within this time and that of the way. */
const POLL_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: POLL_MS, longestMs: 10_000 };

/** A page that is not applied: not signed for this region and place, of a feed that lost entries, or against the database. */
export class FeedRefused extends Error {
  override name = 'FeedRefused';
}

/**
 * Follows the feed of the control plane, page by page. Applies neither a refused page nor any page behind it. The service goes on with
 * the state before.
 */
export function followFeed({
  url,
  internalHeaders,
  tellGate,
  meter,
  log,
  ...follower
}: FeedFollower): Repetition | undefined {
  if (url === undefined) {
    log.info('CONTROL_PLANE_INTERNAL_URL is not set: the region follows no feed of the account layer');
    return undefined;
  }
  const client = createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: ANSWER_TIMEOUT_MS });
  const refused = meter.createCounter('turnpike_feed_refused_total', {
    description: 'Polls of the feed of the account layer that ended at a page that is not applied.',
  });
  refused.add(0);
  const diverged = meter.createCounter('turnpike_feed_diverged_total', {
    description:
      'Times that the feed of the account layer had another history than the applied one, and was read from its beginning.',
  });
  diverged.add(0);
  let appliedAt = performance.now();
  meter
    .createObservableGauge('turnpike_feed_age_seconds', {
      description: 'Time since this process last had applied the whole feed of the account layer, or since it started.',
    })
    .addCallback((result) => result.observe((performance.now() - appliedAt) / 1_000));

  async function poll(): Promise<void> {
    try {
      const wasDiverged = await applyAll(
        follower,
        async (after) => (await client.readFeed({ params: { after } })).page,
      );
      appliedAt = performance.now();
      if (wasDiverged) {
        diverged.add(1);
        log.error(
          'ALERT the feed of the account layer has another history than the one that was applied: it was read again',
        );
      }
    } catch (error) {
      if (error instanceof FeedRefused) refused.add(1);
      throw error;
    } finally {
      await tellGate?.();
    }
  }
  return repeat(poll, {
    pauseMs: POLL_MS,
    backoff: BACKOFF,
    log,
    failing: 'the feed of the account layer is not applied: workspaces and credits stay as they are',
  });
}

/**
 * Applies pages until there is no further entry. Reads the feed of a restored account database, which has another epoch or another
 * history, from its beginning. Returns whether it had another history in the same epoch. Ends early if another process moves the cursor.
 */
export async function applyAll(
  { keys, region, db, applyEntry }: Pick<FeedFollower, 'keys' | 'region' | 'db' | 'applyEntry'>,
  readPage: (after: number) => Promise<string>,
): Promise<boolean> {
  async function readVerified(after: number): Promise<FeedPage> {
    const signed = await readPage(after);
    return verifyPage(signed, { keys, region, after }).catch((error: unknown) => {
      throw new FeedRefused('a page of the feed does not verify', { cause: error });
    });
  }

  let wasDiverged = false;
  for (;;) {
    const cursor = await readCursor(db);
    let page = await readVerified(cursor.seq);
    const isOfEpoch = page.epoch === cursor.epoch;
    if (isOfEpoch && page.last < cursor.seq)
      throw new FeedRefused(`the feed ends at ${page.last}, before ${cursor.seq}, in the epoch ${page.epoch}`);
    const isDiverged =
      isOfEpoch && cursor.chain !== null && page.chain !== undefined && page.chain.before !== cursor.chain;
    wasDiverged ||= isDiverged;
    if (cursor.seq > 0 && (!isOfEpoch || isDiverged)) page = await readVerified(0);
    const isChainKnown = cursor.chain !== null || page.chain === undefined;
    if (page.entries.length === 0 && isOfEpoch && isChainKnown) return wasDiverged;
    const isApplied = await retryConflicts(() =>
      db.transaction(async (tx) => {
        if (!(await moveCursor(tx, cursor, page))) return false;
        for (const entry of page.entries.toSorted(byWorkspace)) await applyEntry(tx, entry);
        return true;
      }),
    );
    if (!isApplied || page.entries.length < PAGE_ENTRIES) return wasDiverged;
  }
}

/** Orders rows as transactions that record calls take them, so that no two deadlock. Entries of one workspace stay in their order. */
const byWorkspace = ({ workspace_id: a }: FeedEntry, { workspace_id: b }: FeedEntry): number =>
  a < b ? -1 : Number(a > b);

async function readCursor(db: Pick<Database, 'query'>): Promise<Cursor> {
  const [cursor] = await db.query(sql<Cursor>`SELECT epoch, seq, chain FROM feed_cursor`);
  if (!cursor) throw new Error('the table feed_cursor is empty');
  return cursor;
}

/** Locks the cursor and moves it behind a page. Returns false if another process has moved it. Waits for a process that moves it. */
async function moveCursor(tx: Queryable, from: Cursor, { epoch, after, chain, entries }: FeedPage): Promise<boolean> {
  const moved = await tx.execute(sql`
    UPDATE feed_cursor SET epoch = ${epoch}, seq = ${after + entries.length}, chain = ${chain?.end ?? null}
    WHERE epoch IS NOT DISTINCT FROM ${from.epoch} AND seq = ${from.seq}`);
  return moved === 1;
}
