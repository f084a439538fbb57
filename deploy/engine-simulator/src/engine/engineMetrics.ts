import { Histogram } from './histogram.ts';
import type { FinishReason, Sequence } from './sequence.ts';

const TTFT_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
const INTER_TOKEN_SECONDS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const REQUEST_SECONDS = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680];

/** 1, 2, 5, 10, 20, 50 … up to the model's window: the bounds of token counts. */
function tokenBounds(maxModelLen: number): number[] {
  const bounds: number[] = [];
  for (let power = 1; ; power *= 10) {
    for (const step of [1, 2, 5]) {
      if (step * power > maxModelLen) return bounds;
      bounds.push(step * power);
    }
  }
}

/** Counters and histograms of one engine since it started; gauges are read from the engine itself. */
export class EngineMetrics {
  promptTokens = 0;
  generationTokens = 0;
  prefixCacheQueries = 0;
  prefixCacheHits = 0;
  preemptions = 0;
  admissionRejections = 0;
  readonly finished: Record<Exclude<FinishReason, 'tool_calls'>, number> = { stop: 0, length: 0, abort: 0, error: 0 };
  readonly histograms: Record<string, Histogram>;
  readonly #timeToFirstToken = new Histogram(TTFT_SECONDS);
  readonly #interToken = new Histogram(INTER_TOKEN_SECONDS);
  readonly #endToEnd = new Histogram(REQUEST_SECONDS);
  readonly #queue = new Histogram(REQUEST_SECONDS);
  readonly #prefill = new Histogram(REQUEST_SECONDS);
  readonly #decode = new Histogram(REQUEST_SECONDS);
  readonly #inference = new Histogram(REQUEST_SECONDS);
  readonly #requestPrompt: Histogram;
  readonly #requestGeneration: Histogram;
  readonly #requestMaxTokens: Histogram;

  constructor(maxModelLen: number) {
    const bounds = tokenBounds(maxModelLen);
    this.#requestPrompt = new Histogram(bounds);
    this.#requestGeneration = new Histogram(bounds);
    this.#requestMaxTokens = new Histogram(bounds);
    this.histograms = {
      'vllm:time_to_first_token_seconds': this.#timeToFirstToken,
      'vllm:inter_token_latency_seconds': this.#interToken,
      'vllm:e2e_request_latency_seconds': this.#endToEnd,
      'vllm:request_queue_time_seconds': this.#queue,
      'vllm:request_prefill_time_seconds': this.#prefill,
      'vllm:request_decode_time_seconds': this.#decode,
      'vllm:request_inference_time_seconds': this.#inference,
      'vllm:request_prompt_tokens': this.#requestPrompt,
      'vllm:request_generation_tokens': this.#requestGeneration,
      'vllm:request_params_max_tokens': this.#requestMaxTokens,
    };
  }

  countScheduled(sequence: Sequence): void {
    this.prefixCacheQueries += sequence.options.promptTokens.length;
    this.prefixCacheHits += sequence.cachedTokens;
  }

  countFirstToken(sequence: Sequence, nowMs: number): void {
    this.promptTokens += sequence.options.promptTokens.length;
    this.#timeToFirstToken.observe((nowMs - sequence.schedule.arrivedMs) / 1_000);
  }

  countNextToken(sequence: Sequence, nowMs: number): void {
    this.#interToken.observe((nowMs - sequence.schedule.lastTokenMs) / 1_000);
  }

  countEnd(sequence: Sequence, nowMs: number): void {
    const { arrivedMs, startedMs, firstTokenMs } = sequence.schedule;
    const reason = sequence.finishReason === 'tool_calls' ? 'stop' : sequence.finishReason;
    this.finished[reason ?? 'error'] += 1;
    if (sequence.options.plan.isPooled && reason === 'stop') this.promptTokens += sequence.options.promptTokens.length;
    if (sequence.generated.length === 0) return;
    this.#endToEnd.observe((nowMs - arrivedMs) / 1_000);
    this.#queue.observe((startedMs - arrivedMs) / 1_000);
    this.#prefill.observe((firstTokenMs - startedMs) / 1_000);
    this.#decode.observe((nowMs - firstTokenMs) / 1_000);
    this.#inference.observe((nowMs - startedMs) / 1_000);
    this.#requestPrompt.observe(sequence.options.promptTokens.length);
    this.#requestGeneration.observe(sequence.generated.length);
    this.#requestMaxTokens.observe(sequence.options.maxTokens);
  }
}
