import { randomUUID } from 'node:crypto';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { OpenShards } from '@turnpike/holds/redis/shards';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { KubernetesApi } from '../engines/discovery/listEndpoints.ts';
import { createEngineRegistry, type EngineRegistry } from '../engines/engineRegistry.ts';
import { followOperatorDrains, type OperatorDrains } from '../engines/operatorDrains.ts';
import { createPromptCounter } from '../engines/promptCounter.ts';
import { type CacheSaltOf, createCacheSalt } from '../engines/promptPrefix.ts';
import type { CountPromptTokens } from '../request/inferenceRequest.ts';
import { EngineQueue } from './engineQueue.ts';
import { Placer } from './placer.ts';
import { followRouters, RouterNews } from './routerNews.ts';

/**
 * Limits of prompt counts, to spare the engines. An embedding sends 16 at a time, so one workspace may have two of them
 * in progress.
 */
const PROMPT_COUNTS = { inAll: 128, perWorkspace: 32, waitingPerKey: 128 };

/**
 * Part of the room on a model's engines that a single key may have. Several keys have less each, so that a new key
 * always finds room.
 */
const ENGINE_KEY_SHARE = 0.75;
/** Calls that may wait for the engines of one model. */
const MAX_WAITING_CALLS = 1_000;
/** Memory of the bodies that may wait for the engines of one model. `BODIES_MAX_BYTES` includes them. */
const MAX_WAITING_BYTES = 134_217_728;

/** The settings of the fleet. */
export interface FleetSettings {
  ENGINES_FILE: string;
  CACHE_SALT_KEYS: NamedSecret[];
  QUEUE_KEY_SHARE: number;
  QUEUE_TIMEOUT_MS: number;
  QUEUE_EXPECTED_WAIT_MS: number;
  ENGINE_CALLS: number;
  ENGINE_TOKENS: number;
}

/** The region's engines and the queue for them. */
export interface OpenFleet {
  engines: EngineRegistry;
  queue: EngineQueue;
  drains: OperatorDrains;
  countPromptTokens: CountPromptTokens;
  cacheSaltOf: CacheSaltOf;
}

/** Opens the list of engines and watches each. Routers share cordoned engines and their own load by `shards`. */
export function openFleet(
  { config, log, shutdown }: ServiceBase<FleetSettings>,
  {
    shards,
    kubernetes,
    metrics,
  }: { shards: Pick<OpenShards, 'having'>; kubernetes: KubernetesApi | undefined; metrics: InferenceMetrics },
): OpenFleet {
  const drains = followOperatorDrains({ shards, log });
  shutdown.defer('cordoned engines', () => drains.close());
  const engines = createEngineRegistry({
    enginesFile: config.ENGINES_FILE,
    kubernetes,
    cordoned: drains.engineIds,
    room: { calls: config.ENGINE_CALLS, tokens: config.ENGINE_TOKENS },
    metrics,
    log,
  });
  shutdown.defer('engines', () => engines.close());
  const news = new RouterNews(randomUUID(), { engines: engines.list });
  const routers = followRouters({ shards, news, log });
  shutdown.defer('news of other routers', () => routers.close());
  metrics.observeFleet({
    engines: engines.list,
    retriesLeft: () => engines.retries.left,
    routersHeard: () => news.others,
  });
  const queue = new EngineQueue({
    placer: new Placer({ news }),
    limits: {
      maxCalls: MAX_WAITING_CALLS,
      maxBytes: MAX_WAITING_BYTES,
      keyShare: config.QUEUE_KEY_SHARE,
      engineKeyShare: ENGINE_KEY_SHARE,
      timeoutMs: config.QUEUE_TIMEOUT_MS,
      expectedWaitMs: config.QUEUE_EXPECTED_WAIT_MS,
    },
    metrics,
  });
  metrics.observeQueue(() => queue.lengths());
  const countPromptTokens = createPromptCounter({ engines, limits: PROMPT_COUNTS });
  const cacheSaltOf = createCacheSalt(config.CACHE_SALT_KEYS);
  return { engines, queue, drains, countPromptTokens, cacheSaltOf };
}
