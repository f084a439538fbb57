import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { AttemptResult, CountedCall } from '../engines/terms/attemptResult.ts';
import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';
import type { Attempt, AttemptTrace } from '../placement/attempt.ts';
import { toDecisionAttributes } from '../placement/toDecisionAttributes.ts';
import type { Call } from './call.ts';

/** Shows an attempt in the call's trace and in metrics: the reason for its engine, the expected figures and the counted ones. */
export class TracedAttempt implements AttemptTrace {
  readonly #metrics: InferenceMetrics;
  readonly #call: Pick<Call, 'model' | 'operation'>;
  readonly #attempt: Attempt;
  readonly #span: CallSpan;
  readonly #beganAt = performance.now();
  #firstEventAt: number | undefined;

  constructor(metrics: InferenceMetrics, call: Pick<Call, 'span' | 'model' | 'operation'>, attempt: Attempt) {
    this.#metrics = metrics;
    this.#call = call;
    this.#attempt = attempt;
    this.#span = call.span.startChild('engine', 'client');
    metrics.callPlaced(attempt.engine, attempt.decision.reason);
  }

  /** Lets the engine go on with the call's trace. */
  get traceparent(): string | undefined {
    return this.#span.traceparent;
  }

  firstEvent(): void {
    this.#firstEventAt = performance.now();
    this.#metrics.engineFirstEvent(this.#attempt.engine, (this.#firstEventAt - this.#beganAt) / 1_000);
  }

  end(result: AttemptResult): void {
    const { engine, decision } = this.#attempt;
    const counted = result.kind === 'answered' ? result.counted : undefined;
    const failed = result.kind === 'failed' ? result : undefined;
    if (counted) this.#measure(counted);
    // Most calls are not traced, and to say why costs more than to know it.
    if (this.#span.traceparent !== undefined)
      this.#span.setAttributes({
        'turnpike.engine': engine.id,
        ...toDecisionAttributes(decision),
        'turnpike.first_event_ms': this.#firstEventAt && Math.round(this.#firstEventAt - this.#beganAt),
        'turnpike.prompt_tokens': counted?.promptTokens,
        'turnpike.cached_prompt_tokens': counted?.cachedPromptTokens,
        'turnpike.completion_tokens': counted?.completionTokens,
        'turnpike.fault': failed?.fault.kind,
        'turnpike.reason': failed?.broken,
      });
    this.#span.end({ isError: failed !== undefined || (result.kind === 'dropped' && result.isError) });
  }

  #measure({ promptTokens, cachedPromptTokens, completionTokens }: CountedCall): void {
    const { decision } = this.#attempt;
    const { operation, model } = this.#call;
    // Nothing is cached of texts to embed, and nothing expected.
    if (operation.isGenerating && promptTokens > 0 && decision.promptTokens > 0)
      this.#metrics.cacheCounted(model, {
        expectedPart: decision.chosen.cachedTokens / decision.promptTokens,
        countedPart: cachedPromptTokens / promptTokens,
      });
    if (this.#firstEventAt === undefined || completionTokens < MIN_PACED_TOKENS) return;
    const seconds = (performance.now() - this.#firstEventAt) / 1_000;
    if (seconds > 0) this.#metrics.streamEnded(model, completionTokens / seconds);
  }
}
