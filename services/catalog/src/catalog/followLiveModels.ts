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
  close(): void;
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
  let isFailing = false;

  async function poll(): Promise<void> {
    try {
      const { statusCode, body } = await request(`${routerUrl}/internal/models/live`, {
        headers: internalHeaders('model-router'),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`model-router answered ${statusCode}`);
      live = answerSchema.parse(JSON.parse(text)).models;
      isFailing = false;
    } catch (error) {
      if (!isFailing)
        log.warn({ err: error }, 'model-router cannot be asked which models are live; its last view stands');
      isFailing = true;
    }
  }

  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const loop = async (): Promise<void> => {
    await poll();
    if (isClosed) return;
    const isSettled = live !== undefined && Object.values(live).every(({ engines, healthy }) => healthy === engines);
    timer = setTimeout(loop, isSettled ? POLL_MS : FIRST_POLL_MS);
    timer.unref();
  };
  void loop();
  return {
    current: () => live,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
