import type { Engine } from '../fleet/engine.ts';
import type { PlacedCall } from '../fleet/placement/placer.ts';
import { toDecisionAttributes } from '../fleet/placement/toDecisionAttributes.ts';
import type { EngineUsage } from '../money/call/toEvent.ts';
import type { AttemptEnd } from './attempt.ts';
import type { Call, House } from './call.ts';

/** Shorter answers say little of a pace: their tokens may come in one event. */
const MIN_TOKENS = 8;

/** One attempt, as the trace and the metrics see it. */
export interface ObservedAttempt {
  /** Lets the engine go on with the call's trace. */
  readonly traceparent: string | undefined;
  /** The engine's first event is here. */
  firstEvent(): void;
  /** The attempt is over; undefined when it ended in an error of ours. */
  end(attempt: AttemptEnd | undefined): void;
}

/** Follows a call's attempt on the engine it was placed on: why it is this engine, what was expected there, and what came of it. */
export function observeAttempt(
  { metrics }: House,
  { span: callSpan, model, operation }: Call,
  { engine, decision }: Pick<PlacedCall<Engine>, 'engine' | 'decision'>,
): ObservedAttempt {
  const span = callSpan.startChild('engine', 'client');
  const beganAt = performance.now();
  let firstEventAt: number | undefined;
  metrics.callPlaced(engine, decision.reason);

  function measure({ promptTokens, cachedPromptTokens, completionTokens }: EngineUsage): void {
    // Nothing is cached of texts to embed, and nothing expected.
    if (operation.isGenerating && promptTokens > 0 && decision.promptTokens > 0)
      metrics.cacheCounted(model, {
        expectedPart: decision.chosen.cachedTokens / decision.promptTokens,
        countedPart: cachedPromptTokens / promptTokens,
      });
    if (firstEventAt === undefined || completionTokens < MIN_TOKENS) return;
    const seconds = (performance.now() - firstEventAt) / 1_000;
    if (seconds > 0) metrics.streamEnded(model, completionTokens / seconds);
  }

  return {
    traceparent: span.traceparent,
    firstEvent() {
      firstEventAt = performance.now();
      metrics.engineFirstEvent(engine, (firstEventAt - beganAt) / 1_000);
    },
    end(attempt) {
      const counted = attempt?.kind === 'whole' ? attempt.usage : undefined;
      const failed = attempt?.kind === 'failed' ? attempt : undefined;
      if (counted) measure(counted);
      // Most calls are not traced, and to say why costs more than to know it.
      if (span.traceparent !== undefined)
        span.setAttributes({
          'turnpike.engine': engine.id,
          ...toDecisionAttributes(decision),
          'turnpike.first_event_ms': firstEventAt && Math.round(firstEventAt - beganAt),
          'turnpike.prompt_tokens': counted?.promptTokens,
          'turnpike.cached_prompt_tokens': counted?.cachedPromptTokens,
          'turnpike.completion_tokens': counted?.completionTokens,
          'turnpike.fault': failed?.fault.kind,
          'turnpike.reason': failed?.broken,
        });
      span.end({ isError: !attempt || failed !== undefined });
    },
  };
}
