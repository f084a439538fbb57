import type { Logger } from '@turnpike/logging/createLogger';
import { openFolderStore } from './folder/openFolderStore.ts';
import type { ObjectStore } from './objectStore.ts';
import { type ObjectStoreConfig, toPlace } from './objectStoreSettings.ts';
import { openS3Store } from './s3/openS3Store.ts';

/** Longest time for one request with its three attempts; of a content, until its first byte. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longest silence of a stream to or from the store while more of it is waited for. */
const IDLE_TIMEOUT_MS = 30_000;
/** The most connections for contents that are read, and the most for all else. */
const CONNECTIONS = 64;

/** Opens the store that the settings name. Throws, in words for whoever runs it, where that is not one to be used. */
export function openObjectStore(config: ObjectStoreConfig, { log }: { log: Logger }): Promise<ObjectStore> {
  const place = toPlace(config);
  if ('folder' in place) return openFolderStore({ folder: place.folder, idleTimeoutMs: IDLE_TIMEOUT_MS });
  return openS3Store({
    ...place,
    timeoutMs: REQUEST_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    connections: CONNECTIONS,
    log,
  });
}
