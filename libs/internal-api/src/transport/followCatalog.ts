import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { catalogApi } from '../catalog.ts';
import type { CatalogSnapshot } from '../catalogSnapshot.ts';
import { createClient } from './createClient.ts';

const POLL_MS = 2_000;
const FIRST_POLL_MS = 200;
const TIMEOUT_MS = 2_000;

/** The catalog as a service sees it, which has more, or less, of each model than the snapshot. */
export interface CatalogFollower<View> {
  /** The last good catalog; undefined until the first one arrived. */
  readonly current: View | undefined;
  close(): Promise<void>;
}

export interface FollowCatalogOptions<View> {
  catalogUrl: string;
  internalHeaders: InternalHeaders;
  /** Converts a snapshot. If it throws, the follower keeps the view that it has. */
  toView: (snapshot: CatalogSnapshot) => View;
  log: Logger;
}

/**
 * Follows the catalog service by asking for newer versions. A catalog that is down or answers nonsense changes nothing:
 * the last good version stays in force.
 */
export function followCatalog<View>(options: FollowCatalogOptions<View>): CatalogFollower<View> {
  const { catalogUrl, internalHeaders, toView, log } = options;
  const service = createClient(catalogApi, { url: catalogUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  let inForce: CatalogSnapshot | undefined;

  async function poll(): Promise<void> {
    const newest = await service.getCatalog({ known: inForce });
    // Two replicas of the catalog may differ while they are rolled out: prices do not go back and forth.
    if (newest === inForce || newest.version < (inForce?.version ?? 0)) return;
    follower.current = toView(newest);
    inForce = newest;
    log.info({ version: newest.version, models: newest.models.length }, 'catalog version in force');
  }

  const polling = repeat(poll, {
    pauseMs: () => (inForce ? POLL_MS : FIRST_POLL_MS),
    log,
    failing: 'catalog cannot be read: the last good version stays in force, and before the first no call is served',
  });
  const follower: { current: View | undefined; close(): Promise<void> } = { current: undefined, close: polling.close };
  return follower;
}
