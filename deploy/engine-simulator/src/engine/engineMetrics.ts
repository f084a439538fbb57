import type { FinishReason, Sequence } from './sequence.ts';

/** Counters of one engine since it started; gauges are read from the engine itself. */
export class EngineMetrics {
  promptTokens = 0;
  generationTokens = 0;
  prefixCacheQueries = 0;
  prefixCacheHits = 0;
  preemptions = 0;
  admissionRejections = 0;
  readonly finished: Record<Exclude<FinishReason, 'tool_calls'>, number> = { stop: 0, length: 0, abort: 0, error: 0 };

  countScheduled({ options, cachedTokens }: Sequence): void {
    this.prefixCacheQueries += options.promptTokens.length;
    this.prefixCacheHits += cachedTokens;
  }

  /** The prompt counts once it is computed: with the first token, or with the vectors. */
  countToken({ options, generated }: Sequence): void {
    this.generationTokens += 1;
    if (generated.length === 1) this.promptTokens += options.promptTokens.length;
  }

  countEnd({ options, finishReason }: Sequence): void {
    const reason = finishReason === 'tool_calls' ? 'stop' : finishReason;
    this.finished[reason ?? 'error'] += 1;
    if (options.plan.isPooled && reason === 'stop') this.promptTokens += options.promptTokens.length;
  }
}
