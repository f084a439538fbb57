import type { Engine } from '../engines/engine.ts';
import type { Attempt, CountedCall } from '../engines/terms/attempt.ts';
import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';
import { toDecisionAttributes } from '../placement/toDecisionAttributes.ts';
import type { Call, House } from './call.ts';

/**
 * Has the trace and the metrics observe an attempt: why it is this engine, what was expected there, and what came of it. Gives
 * what lets the engine go on with the call's trace.
 */
export function observeAttempt(
  { metrics }: House,
  { span: callSpan, model, operation }: Call,
  attempt: Attempt<Engine>,
): { traceparent: string | undefined } {
  const { engine, decision } = attempt;
  const span = callSpan.startChild('engine', 'client');
  const beganAt = performance.now();
  let firstEventAt: number | undefined;
  metrics.callPlaced(engine, decision.reason);

  function measure({ promptTokens, cachedPromptTokens, completionTokens }: CountedCall): void {
    // Nothing is cached of texts to embed, and nothing expected.
    if (operation.isGenerating && promptTokens > 0 && decision.promptTokens > 0)
      metrics.cacheCounted(model, {
        expectedPart: decision.chosen.cachedTokens / decision.promptTokens,
        countedPart: cachedPromptTokens / promptTokens,
      });
    if (firstEventAt === undefined || completionTokens < MIN_PACED_TOKENS) return;
    const seconds = (performance.now() - firstEventAt) / 1_000;
    if (seconds > 0) metrics.streamEnded(model, completionTokens / seconds);
  }

  attempt.subscribe({
    firstEvent() {
      firstEventAt = performance.now();
      metrics.engineFirstEvent(engine, (firstEventAt - beganAt) / 1_000);
    },
    end(result) {
      const counted = result.kind === 'answered' ? result.counted : undefined;
      const failed = result.kind === 'failed' ? result : undefined;
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
      span.end({ isError: failed !== undefined || (result.kind === 'dropped' && result.isError) });
    },
  });
  return { traceparent: span.traceparent };
}
