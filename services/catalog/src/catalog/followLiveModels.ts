import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { request } from 'undici';
import { z } from 'zod';

const POLL_MS = 2_000;
const FIRST_POLL_MS = 250;
const TIMEOUT_MS = 1_000;

const answerSchema = z.object({ models: z.record(z.string(), z.object({ engines: z.number(), healthy: z.number() })) });

/** For each model, how many engines the region has for it and how many answer. */
export type LiveModels = z.output<typeof answerSchema>['models'];

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
  let live: LiveModels | undefined;

  async function poll(): Promise<void> {
    const { statusCode, body } = await request(`${routerUrl}/internal/models/live`, {
      headers: internalHeaders('model-router'),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`model-router answered ${statusCode}`);
    live = answerSchema.parse(JSON.parse(text)).models;
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
