import { catalogApi } from '@turnpike/internal-api/catalog';
import type { CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { createClient } from '@turnpike/internal-api/createClient';
import type { Logger } from '@turnpike/logging/createLogger';
import { type Catalog, toCatalog } from './catalog.ts';

const POLL_MS = 2_000;
const TIMEOUT_MS = 2_000;

export interface CatalogFollower {
  /** The last good catalog; undefined until the first one arrived. */
  current(): Catalog | undefined;
  close(): void;
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
  let isFailing = false;
  let isClosed = false;
  let timer: NodeJS.Timeout;

  async function poll(): Promise<void> {
    try {
      const newest = await service.getCatalog({ known: snapshot });
      // Two replicas of the catalog may differ while they are rolled out: prices do not go back and forth.
      if (newest !== snapshot && newest.version >= (snapshot?.version ?? 0)) {
        catalog = toCatalog(newest);
        snapshot = newest;
        log.info({ version: catalog.version, models: catalog.models.length }, 'catalog version in force');
      }
      isFailing = false;
    } catch (error) {
      const consequence = catalog ? 'the last good version stays in force' : 'no call is served before it can';
      if (!isFailing) log.warn({ err: error }, `catalog cannot be read: ${consequence}`);
      isFailing = true;
    }
  }

  const loop = async (): Promise<void> => {
    await poll();
    if (isClosed) return;
    timer = setTimeout(loop, catalog ? POLL_MS : POLL_MS / 10);
    timer.unref();
  };
  void loop();
  return {
    current: () => catalog,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
