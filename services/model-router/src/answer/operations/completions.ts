import type { TextChunk, TextCompletion } from '@turnpike/public-api/textCompletion';
import type { ChunkShape } from '../chunks/streamEncoder.ts';
import { readEngineUsage, readIdentity, toShownFinishReason, toUsageBody } from '../fields/answerFields.ts';
import { ChunkEncoder, type ChunkForm } from './chat.ts';
import { type AnswerOptions, readAnswer, toPayload, type WholeAnswer } from './wholeAnswer.ts';

/** An engine's whole legacy completion as the client gets it. */
export function editCompletionAnswer(bytes: Buffer, { canonicalModel, ...terms }: AnswerOptions): WholeAnswer {
  const read = readAnswer(bytes, terms);
  if (read.kind !== 'read') return read;
  const { answer, choice, finishReason } = read;
  if (typeof choice.text !== 'string') return { kind: 'broken' };
  const usage = readEngineUsage(answer.usage);
  const { id, created } = readIdentity(answer, COMPLETION_CHUNKS.idPrefix);
  const finish_reason = toShownFinishReason(finishReason, { hasToolCall: false });
  const body =
    usage &&
    ({
      id,
      object: 'text_completion',
      created,
      model: canonicalModel,
      choices: [{ index: 0, text: choice.text, logprobs: null, finish_reason }],
      usage: toUsageBody(usage, terms),
    } satisfies TextCompletion);
  return { kind: 'answer', payload: toPayload(body), usage, hasToolCall: false };
}

const CHUNK_FORM: ChunkForm<string> = {
  emptyValue: '',
  plainFields: { text: [] },
  toChunk: ({ id, created, model, ...usage }, part) =>
    ({
      id,
      object: 'text_completion',
      created,
      model,
      choices: part ? [{ index: 0, text: part.value, logprobs: null, finish_reason: part.finishReason }] : [],
      ...usage,
    }) satisfies TextChunk,
};

export const COMPLETION_CHUNKS: ChunkShape<string> = {
  idPrefix: 'cmpl',
  valueKey: 'text',
  emptyValue: '',
  createValueEditor: () => ({
    edit: (text) => (typeof text === 'string' ? text : undefined),
    hasToolCall: false,
    hasUnshowableCall: false,
  }),
  createEncoder: (terms) => new ChunkEncoder(CHUNK_FORM, terms),
};
