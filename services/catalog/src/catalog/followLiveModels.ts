import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { type LiveModels, modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';

const POLL_MS = 2_000;
const FIRST_POLL_MS = 250;
const TIMEOUT_MS = 1_000;

export interface LiveModelFollower {
  /** Models that engines serve, by the last answers of the router. Undefined until the router answers once. */
  current(): LiveModels | undefined;
  close(): Promise<void>;
}

export interface FollowLiveModelsOptions {
  routerUrl: string;
  mediaUrl: string;
  internalHeaders: InternalHeaders;
  log: Logger;
}

/**
 * Follows the router's view of its engines, and that of media-jobs of its backends. One that is away changes nothing: its last view
 * stands. Models of text are there without those of media.
 */
export function followLiveModels({
  routerUrl,
  mediaUrl,
  internalHeaders,
  log,
}: FollowLiveModelsOptions): LiveModelFollower {
  const router = createClient(modelRouterApi, { url: routerUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  const media = createClient(mediaJobsApi, { url: mediaUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  const ofText = follow('model-router', () => router.getLiveModels(), log);
  const ofMedia = follow('media-jobs', () => media.getLiveModels(), log);
  return {
    current() {
      const models = ofText.current();
      return models && { ...models, ...ofMedia.current() };
    },
    async close() {
      await Promise.all([ofText.close(), ofMedia.close()]);
    },
  };
}

function follow(service: string, ask: () => Promise<{ models: LiveModels }>, log: Logger): LiveModelFollower {
  let live: LiveModels | undefined;

  async function poll(): Promise<void> {
    live = (await ask()).models;
  }

  const isSettled = (): boolean =>
    live !== undefined && Object.values(live).every(({ engines, healthy }) => healthy === engines);
  const polling = repeat(poll, {
    pauseMs: () => (isSettled() ? POLL_MS : FIRST_POLL_MS),
    log,
    failing: `${service} cannot be asked which models are live; its last view stands`,
  });
  return { current: () => live, close: polling.close };
}
