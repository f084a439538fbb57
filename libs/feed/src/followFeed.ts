import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { type FeedPage, PAGE_ENTRIES, verifyPage } from './feedPage.ts';

/** How far a service has applied the feed. Before the first page it knows no epoch. */
export interface Cursor {
  epoch: string | null;
  seq: number;
}

export interface FeedFollower {
  /** Base address of the control plane's internal listener. */
  url: string;
  internalHeaders: InternalHeaders;
  keys: PublicKey[];
  region: Region;
  readCursor: () => Promise<Cursor>;
  /** Applies a page and moves the cursor from `after` in one transaction. Does nothing where another process moved it before. */
  apply: (page: FeedPage) => Promise<void>;
  log: Logger;
}

/** An entry reaches a region within this time and that of the way. */
const POLL_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: POLL_MS, longestMs: 30_000 };

/** The feed of an account database that is not the one before: nothing of it is applied until an operator has looked. */
export class FeedMismatch extends Error {
  override name = 'FeedMismatch';
}

/**
 * Follows the feed of the control plane, page by page. A page that `verifyPage` refuses, or of another account database, is not applied,
 * nor is anything behind it. The service goes on with the state before.
 */
export function followFeed({ log, ...follower }: FeedFollower): Repetition {
  const { url, internalHeaders } = follower;
  const client = createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: ANSWER_TIMEOUT_MS });
  async function readPage(after: number): Promise<string> {
    return (await client.readFeed({ params: { after } })).page;
  }
  return repeat(() => applyAll(follower, readPage), {
    pauseMs: POLL_MS,
    backoff: BACKOFF,
    log,
    failing: 'the feed of the account layer cannot be applied: workspaces and credits stay as they are',
  });
}

/** Applies pages until there is no further entry. */
export async function applyAll(
  { keys, region, readCursor, apply }: Pick<FeedFollower, 'keys' | 'region' | 'readCursor' | 'apply'>,
  readPage: (after: number) => Promise<string>,
): Promise<void> {
  for (;;) {
    const { epoch, seq } = await readCursor();
    const page = await verifyPage(await readPage(seq), { keys, region, after: seq });
    if (epoch !== null && page.epoch !== epoch)
      throw new FeedMismatch(
        `the feed is of the epoch ${page.epoch}, after ${epoch}: the account database was restored`,
      );
    if (page.last < seq)
      throw new FeedMismatch(
        `the feed ends at ${page.last}, before ${seq}, which is applied here: the account database was restored`,
      );
    if (page.entries.length > 0) await apply(page);
    if (page.entries.length < PAGE_ENTRIES) return;
  }
}
