import { ApiError } from '@turnpike/api-errors/apiError';
import type { EngineErrorKind } from '../engines/dispatchToEngine.ts';
import { type Engine, type EngineRegistry, servedNameOf } from '../engines/engineRegistry.ts';
import { placeCall } from '../engines/placeCall.ts';
import { isWorthRetrying } from '../engines/toEngineFault.ts';
import type { EngineFault } from '../wire/chatFault.ts';
import type { AttemptOn, CallContext } from './callContext.ts';

const MAX_ATTEMPTS = 2;

/**
 * Tries a call on the engine it is placed on and, as long as the client has seen nothing, once more on another.
 * Throws the engine's fault when that came to nothing; the call is recorded as a failure first, and costs nothing.
 */
export async function runOnEngines(context: CallContext, attemptOn: AttemptOn): Promise<void> {
  const { call, model, engines, placement, maxOutputTokens, span, metrics } = context;
  const tried = new Set<Engine>();
  let fault: EngineFault = { kind: 'no_healthy_engine' };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const candidates = engines
      .findEngines(model)
      .filter((engine) => engine.isHealthy && !tried.has(engine) && servedNameOf(engine, model) !== undefined);
    const engine = placeCall(candidates, placement);
    if (!engine) break;
    if (tried.size > 0) metrics.callRetried(model);
    tried.add(engine);
    call.target = engine.id;
    const load = placement.promptTokens * (1 - engine.prefixes.matchOf(placement.prefixHashes)) + maxOutputTokens;
    engine.tokensInFlight += load;
    engine.prefixes.add(placement.prefixHashes);
    const engineSpan = span.startChild('engine', 'client');
    let isError = true;
    try {
      const result = await attemptOn(engine, { number: attempt, traceparent: engineSpan.traceparent });
      isError = result.outcome === 'failed';
      if (result.outcome === 'ended') return;
      fault = result.fault;
      if (result.broken !== undefined) reportBroken(engines, engine, result.broken);
      if (result.isFinal || !isWorthRetrying(fault)) break;
    } finally {
      engine.tokensInFlight -= load;
      engineSpan.setAttributes({ 'turnpike.engine': engine.id });
      engineSpan.end({ isError });
    }
  }
  await call.end({ status: 'failure', reason: fault.kind });
  throw new ApiError(fault);
}

/** Tells the registry how an exchange broke off. Slowness is no illness: it may be the call's own. */
export function reportBroken(engines: EngineRegistry, engine: Engine, kind: EngineErrorKind): void {
  if (kind === 'refused') engines.reportRefusal(engine);
  else if (kind === 'reset') engines.reportBrokenCall(engine);
}
