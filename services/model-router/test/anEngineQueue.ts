import { createEngineQueue, type EngineQueue, type EngineQueueOptions } from '../src/fleet/queue/engineQueue.ts';
import { aFirstPlacer } from './aPlacement.ts';
import { noMetrics } from './noMetrics.ts';

/** A queue where nobody waits, unless a test makes an engine's room smaller. */
export const anEngineQueue = (options: Partial<EngineQueueOptions> = {}): EngineQueue =>
  createEngineQueue({
    placer: aFirstPlacer(),
    queue: { maxCalls: 100, maxBytes: 1_048_576, keyShare: 0.5, timeoutMs: 20_000, expectedWaitMs: 5_000 },
    room: { calls: 1_000, tokens: 1_000_000, keyShare: 0.75 },
    metrics: noMetrics,
    ...options,
  });
