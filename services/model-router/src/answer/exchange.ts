import { dispatchToEngine, type EngineExchange, type EngineListener } from '../fleet/dispatchToEngine.ts';
import { type Engine, servedNameOf } from '../fleet/engine.ts';
import type { Call } from './call.ts';

/** Sends a call to an engine, under the engine's own name of the model and an id that is new for each attempt. */
export function dispatchCall(
  { operation, request, model, callId, bound, cacheSalt }: Call,
  engine: Engine,
  {
    number,
    traceparent,
    headersTimeoutMs,
  }: { number: number; traceparent: string | undefined; headersTimeoutMs: number },
  listener: EngineListener,
): EngineExchange {
  const servedName = servedNameOf(engine, model) ?? model.id;
  return dispatchToEngine(
    engine,
    {
      path: engine.dialect.pathOf(operation),
      body: engine.dialect.toBody(request, { model, servedName, maxOutputTokens: bound.outputTokens, cacheSalt }),
      requestId: number === 1 ? callId : `${callId}-${number}`,
      traceparent,
      headersTimeoutMs,
    },
    listener,
  );
}

/** A timer that is set again and again: what it waits for must come within the time set last. */
export class Deadline {
  readonly #onMissed: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onMissed: () => void) {
    this.#onMissed = onMissed;
  }

  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onMissed, ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
