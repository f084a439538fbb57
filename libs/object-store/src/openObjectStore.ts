import type { Logger } from '@turnpike/logging/createLogger';
import { openFolderStore } from './folder/openFolderStore.ts';
import type { ObjectStore } from './objectStore.ts';
import { type ObjectStoreConfig, toPlace } from './objectStoreSettings.ts';
import { openS3Store } from './s3/openS3Store.ts';

/** Opens the store that the settings name. Throws, in words for whoever runs it, where that is not one to be used. */
export function openObjectStore(config: ObjectStoreConfig, { log }: { log: Logger }): Promise<ObjectStore> {
  const place = toPlace(config);
  const idleTimeoutMs = config.OBJECT_STORE_IDLE_TIMEOUT_MS;
  if ('folder' in place) return openFolderStore({ folder: place.folder, idleTimeoutMs });
  return openS3Store({
    ...place,
    timeoutMs: config.OBJECT_STORE_TIMEOUT_MS,
    idleTimeoutMs,
    connections: config.OBJECT_STORE_CONNECTIONS,
    log,
  });
}
