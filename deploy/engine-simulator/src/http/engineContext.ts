import type { RequestLog } from '../admin/requestLog.ts';
import type { Clock } from '../engine/clock.ts';
import type { Engine } from '../engine/engine.ts';
import type { Sequence } from '../engine/sequence.ts';
import type { TokenId } from '../tokenizer/tokenizer.ts';
import type { ChatRequest } from '../wire/chatRequest.ts';
import type { EmbeddingRequest } from '../wire/embeddings.ts';
import { engineDead, serverBusy } from '../wire/engineError.ts';
import type { CompletionRequest } from '../wire/samplingFields.ts';

/** A checked request, and its sizes in tokens. */
export type AskedFor = { promptTokens: readonly TokenId[]; maxTokens: number } & (
  | { task: 'chat'; request: ChatRequest }
  | { task: 'completion'; request: CompletionRequest }
  | { task: 'embedding'; request: EmbeddingRequest }
);

/** The dependencies of one engine's routes. */
export interface EngineContext {
  engine: Engine;
  /** Plans the output of a request. Throws an `EngineError` on unknown directives. */
  plan: (asked: AskedFor) => Sequence;
  clock: Clock;
  log: RequestLog;
  /** The state of the engine's process: `draining` refuses new requests, and `dead` fails all requests. */
  servingState: () => 'serving' | 'draining' | 'dead';
}

/** Throws the 500 of a dead engine, and the 503 of one that is leaving or has as many requests as it may. */
export function checkAdmission({ engine, servingState }: EngineContext): void {
  if (servingState() === 'dead') throw engineDead();
  if (servingState() === 'draining') throw serverBusy();
  const { queueCap } = engine.knobs;
  if (queueCap === null || engine.runningCount + engine.waitingCount < queueCap) return;
  engine.metrics.admissionRejections += 1;
  throw serverBusy();
}
