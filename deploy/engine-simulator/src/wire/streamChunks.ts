import type { Delta } from '../engine/outputQueue.ts';
import type { Usage } from './usage.ts';

/** Who answers: what stands in every chunk and in every whole answer. */
export interface AnswerIdentity {
  id: string;
  createdAtSeconds: number;
  model: string;
  systemFingerprint: string;
}

/** How an answer ends; `last` is text that travels in its finish chunk. */
export interface ChoiceEnd {
  last: Delta | undefined;
  finishReason: string;
  stopReason: string | null;
  completionTokens: number;
  /** Whether no usage chunk follows. */
  isLastChunk: boolean;
}

/** Writes the events of one stream, as text. */
export interface StreamChunks {
  /** What comes before the first delta; empty where nothing does. */
  opening(): string;
  delta(delta: Delta): string;
  /** The last chunk of the answer itself. */
  finish(end: ChoiceEnd): string;
  /** The chunk with no choices that only a client who asked for usage gets. */
  usage(usage: Usage): string;
}

export const DONE_EVENT = 'data: [DONE]\n\n';

export const toEvent = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;
