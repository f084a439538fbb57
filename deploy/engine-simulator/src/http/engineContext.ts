import type { RequestLog } from '../admin/requestLog.ts';
import type { EngineConfig } from '../config.ts';
import type { Clock } from '../engine/clock.ts';
import type { EngineMetrics } from '../engine/engineMetrics.ts';
import type { Sequence } from '../engine/sequence.ts';
import type { Knobs } from '../knobs.ts';
import type { ChatMessage } from '../tokenizer/renderChat.ts';
import type { TokenId } from '../tokenizer/tokenizer.ts';
import type { ChatRequest, ToolDefinition } from '../wire/chatRequest.ts';
import type { CompletionRequest } from '../wire/completionRequest.ts';
import type { EmbeddingRequest } from '../wire/embeddings.ts';
import { engineDead, serverBusy } from '../wire/engineError.ts';

/** What the HTTP layer needs of whatever makes the tokens: the simulated engine, or a real one behind the same format. */
export interface ServingEngine {
  readonly config: EngineConfig;
  readonly knobs: Readonly<Knobs>;
  readonly metrics: EngineMetrics;
  readonly runningCount: number;
  readonly waitingCount: number;
  /** Part of the key-value cache in use, 0 to 1. */
  readonly kvCacheUsage: number;
  readonly isAsleep: boolean;
  /** Queues a sequence, which says by `onProgress` whenever it has output or has ended. */
  submit(sequence: Sequence): void;
  /** Takes a sequence out. One that has ended stays as it is. */
  abort(sequence: Sequence): void;
}

/** A request that passed every check, and what it comes to in tokens. */
export type AskedFor = { promptTokens: readonly TokenId[]; maxTokens: number } & (
  | { task: 'chat'; request: ChatRequest }
  | { task: 'completion'; request: CompletionRequest }
  | { task: 'embedding'; request: EmbeddingRequest }
);

/** What the routes of one engine work with. */
export interface EngineContext {
  engine: ServingEngine;
  tokenizer: {
    renderText(text: string): TokenId[];
    renderChat(
      messages: readonly ChatMessage[],
      options: { tools: readonly ToolDefinition[] | undefined; addGenerationPrompt: boolean },
    ): TokenId[];
  };
  /** What is to be generated for a request. Throws or rejects with an `EngineError` where this engine cannot. */
  plan: (asked: AskedFor) => Sequence | Promise<Sequence>;
  clock: Clock;
  log: RequestLog;
  /** What the engine's process does with its public: `draining` refuses what is new, `dead` answers nobody well. */
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
