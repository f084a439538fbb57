import { CHAT } from '../../request/chatRequest.ts';
import { COMPLETIONS } from '../../request/completionRequest.ts';
import { EMBEDDINGS } from '../../request/embeddingRequest.ts';
import type { Operation } from '../../request/inferenceRequest.ts';
import { MESSAGES } from '../../request/messagesRequest.ts';
import { RESPONSES } from '../../request/responsesRequest.ts';
import type { ChunkShape } from '../chunks/streamEncoder.ts';
import { CHAT_CHUNKS, editChatAnswer } from './chat.ts';
import { COMPLETION_CHUNKS, editCompletionAnswer } from './completions.ts';
import { editEmbeddingAnswer } from './embeddings.ts';
import { editMessage, MESSAGE_EVENTS } from './messages.ts';
import { editResponse, RESPONSE_EVENTS } from './responses.ts';
import type { AnswerOptions, WholeAnswer } from './wholeAnswer.ts';

/** An operation with how its answers are written. */
export interface AnsweredOperation extends Operation {
  /** Turns an engine's whole answer into the client's. */
  editWhole(bytes: Buffer, options: AnswerOptions): WholeAnswer;
  /** Undefined where nothing is streamed. */
  chunks: ChunkShape | undefined;
}

/** Every operation that clients may call; the edge lists their paths as well. */
export const OPERATIONS: readonly AnsweredOperation[] = [
  { ...CHAT, editWhole: editChatAnswer, chunks: CHAT_CHUNKS },
  { ...RESPONSES, editWhole: editResponse, chunks: RESPONSE_EVENTS },
  { ...MESSAGES, editWhole: editMessage, chunks: MESSAGE_EVENTS },
  { ...COMPLETIONS, editWhole: editCompletionAnswer, chunks: COMPLETION_CHUNKS },
  { ...EMBEDDINGS, editWhole: editEmbeddingAnswer, chunks: undefined },
];
