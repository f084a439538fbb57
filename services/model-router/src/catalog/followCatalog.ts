import { catalogApi } from '@turnpike/internal-api/catalog';
import type { CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { createClient } from '@turnpike/internal-api/createClient';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { type Catalog, toCatalog } from './catalog.ts';

const POLL_MS = 2_000;
const FIRST_POLL_MS = 200;
const TIMEOUT_MS = 2_000;

export interface CatalogFollower {
  /** The last good catalog; undefined until the first one arrived. */
  current(): Catalog | undefined;
  close(): Promise<void>;
}

/**
 * Follows the catalog service by asking for newer versions. A catalog that is down or answers nonsense changes nothing:
 * the last good version stays in force.
 */
export function followCatalog({
  catalogUrl,
  internalHeaders,
  log,
}: {
  catalogUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  log: Logger;
}): CatalogFollower {
  const service = createClient(catalogApi, { url: catalogUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  let snapshot: CatalogSnapshot | undefined;
  let catalog: Catalog | undefined;

  async function poll(): Promise<void> {
    const newest = await service.getCatalog({ known: snapshot });
    // Two replicas of the catalog may differ while they are rolled out: prices do not go back and forth.
    if (newest === snapshot || newest.version < (snapshot?.version ?? 0)) return;
    catalog = toCatalog(newest);
    snapshot = newest;
    log.info({ version: catalog.version, models: catalog.models.length }, 'catalog version in force');
  }

  const polling = repeat(poll, {
    pauseMs: () => (catalog ? POLL_MS : FIRST_POLL_MS),
    log,
    failing: 'catalog cannot be read: the last good version stays in force, and before the first no call is served',
  });
  return { current: () => catalog, close: polling.close };
}
