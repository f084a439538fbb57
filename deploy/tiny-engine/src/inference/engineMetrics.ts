import type { FinishReason } from './finishReason.ts';

/** What one request came to. */
interface EndedRequest {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  finishReason: FinishReason;
}

/** What the engine counted since it started. */
export class EngineMetrics {
  promptTokens = 0;
  generationTokens = 0;
  prefixCacheHits = 0;
  readonly finished: Record<FinishReason, number> = { stop: 0, length: 0, abort: 0 };

  recordEnd({ promptTokens, cachedTokens, completionTokens, finishReason }: EndedRequest): void {
    // A request that left the queue before its turn computed nothing.
    if (completionTokens > 0) this.promptTokens += promptTokens;
    this.prefixCacheHits += cachedTokens;
    this.generationTokens += completionTokens;
    this.finished[finishReason]++;
  }
}
