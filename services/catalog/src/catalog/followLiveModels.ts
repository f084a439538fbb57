import { createClient } from '@turnpike/internal-api/createClient';
import { type LiveModels, modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';

const POLL_MS = 2_000;
const FIRST_POLL_MS = 250;
const TIMEOUT_MS = 1_000;

export interface LiveModelFollower {
  /** The router's last view; undefined until it was reached once. */
  current(): LiveModels | undefined;
  close(): Promise<void>;
}

/** Follows the router's view of the engines. A router that is away changes nothing: the last view stands. */
export function followLiveModels({
  routerUrl,
  internalHeaders,
  log,
}: {
  routerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  log: Logger;
}): LiveModelFollower {
  const router = createClient(modelRouterApi, { url: routerUrl, internalHeaders, timeoutMs: TIMEOUT_MS });
  let live: LiveModels | undefined;

  async function poll(): Promise<void> {
    live = (await router.getLiveModels()).models;
  }

  const isSettled = (): boolean =>
    live !== undefined && Object.values(live).every(({ engines, healthy }) => healthy === engines);
  const polling = repeat(poll, {
    pauseMs: () => (isSettled() ? POLL_MS : FIRST_POLL_MS),
    log,
    failing: 'model-router cannot be asked which models are live; its last view stands',
  });
  return { current: () => live, close: polling.close };
}
