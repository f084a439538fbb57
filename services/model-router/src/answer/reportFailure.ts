import type { EngineFault } from '../api/chatFault.ts';
import type { EngineErrorKind } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import type { CallContext } from './callContext.ts';

/** How an attempt failed. */
export interface Failure {
  fault: EngineFault;
  /** What the exchange broke off with, where the engine did not answer. */
  broken: EngineErrorKind | undefined;
  /** The call is over for a reason of its own. */
  isFinal: boolean;
}

/** Tells the fleet of an engine that failed a call, where it may be the engine's doing; a client's mistake never is. */
export function reportFailure(
  { engines, workspaceId: caller }: Pick<CallContext, 'engines' | 'workspaceId'>,
  engine: Engine,
  { fault, broken, isFinal }: Failure,
): void {
  // The fleet knows: it is why the call left.
  if (broken === 'left_out') return;
  if (broken === 'refused') engines.report(engine, { kind: 'refused' });
  else if (broken === 'timeout') engines.report(engine, { kind: 'silent' });
  else if (fault.kind === 'engine_busy') engines.report(engine, { kind: 'busy' });
  else if (broken !== undefined || (fault.kind === 'engine_failed' && !isFinal))
    engines.report(engine, { kind: 'failed', caller });
}
