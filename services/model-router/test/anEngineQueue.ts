import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { EngineQueue, type EngineQueueOptions } from '../src/placement/engineQueue.ts';
import { aFirstPlacer } from './aPlacement.ts';

/** A queue where nobody waits, unless an engine's room is small. */
export const anEngineQueue = (options: Partial<EngineQueueOptions> = {}): EngineQueue =>
  new EngineQueue({
    placer: aFirstPlacer(),
    limits: {
      maxCalls: 100,
      maxBytes: 1_048_576,
      keyShare: 0.5,
      engineKeyShare: 0.75,
      timeoutMs: 20_000,
      expectedWaitMs: 5_000,
    },
    metrics: noMetrics,
    ...options,
  });
