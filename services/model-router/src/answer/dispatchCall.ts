import { dispatchToEngine, type EngineExchange, type EngineListener } from '../fleet/dispatchToEngine.ts';
import { type Engine, servedNameOf } from '../fleet/engine.ts';
import { toEngineBody } from '../fleet/vllm/toEngineBody.ts';
import { OPERATION_PATHS } from '../request/inferenceRequest.ts';
import type { CallContext } from './callContext.ts';

/** Sends a call to an engine, under the engine's own name of the model and an id that is new for each attempt. */
export function dispatchCall(
  { request, model, call, maxOutputTokens, cacheSalt }: CallContext,
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
      path: OPERATION_PATHS[request.operation],
      body: toEngineBody(request, { model, servedName, maxOutputTokens, cacheSalt }),
      requestId: number === 1 ? call.callId : `${call.callId}-${number}`,
      traceparent,
      headersTimeoutMs,
    },
    listener,
  );
}
