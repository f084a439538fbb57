import { engineDead, serverBusy } from '../wire/engineError.ts';
import type { EngineContext } from './engineContext.ts';

/** Throws the 500 of a dead engine, and the 503 of one that is leaving or would have more than `queueCap` choices. */
export function checkAdmission({ engine, servingState }: EngineContext, choices: number): void {
  if (servingState() === 'dead') throw engineDead();
  if (servingState() === 'draining') throw serverBusy();
  const { queueCap } = engine.knobs;
  if (queueCap === null || engine.runningCount + engine.waitingCount + choices <= queueCap) return;
  engine.metrics.admissionRejections += 1;
  throw serverBusy();
}

/** Kills the engine under a prompt that is too long for its memory, which is then answered like any other. */
export function checkMemory({ engine, die }: EngineContext, promptTokens: number): void {
  const { oomPromptTokens } = engine.knobs;
  if (oomPromptTokens === null || promptTokens < oomPromptTokens) return;
  die();
  throw engineDead();
}
