import type { Engine } from '../engines/engine.ts';
import type { AttemptResult } from '../engines/terms/attemptResult.ts';

/** A call as placement sees it. */
export interface Placement {
  modelId: string;
  keyId: string;
  /** Chained hashes of the prompt's leading blocks. */
  prefixHashes: readonly number[];
  /** Rendered bytes of the whole prompt, hashed or not. */
  promptBytes: number;
  /** An estimate without a tokenizer. */
  estimatedPromptTokens: number;
  maxOutputTokens: number;
  /** Its first event is heard: a whole answer has none. */
  isStream: boolean;
}

/** An answer whose client may leave before it has it. */
export interface Leavable {
  readonly destroyed: boolean;
  once(event: 'close', onClose: () => void): unknown;
  off(event: 'close', onClose: () => void): unknown;
}

/** A call that needs an engine. */
export interface QueueableCall {
  readonly placement: Placement;
  /** Memory it holds. */
  readonly bytes: number;
  readonly res: Leavable;
  /** The engines that may have its next attempt. Asked whenever it might be placed; where there is none it does not wait. */
  findEngines(): readonly Engine[];
  /** Whether it may leave an engine that does not answer for another one. */
  mayLeave(engine: Engine): boolean;
  /** Tells health of the result of an attempt on an engine. */
  report(engine: Engine, result: AttemptResult): void;
}
