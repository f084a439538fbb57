import { parseEngineJson } from '../../engines/terms/engineJson.ts';
import type { AnswerTerms } from '../chunks/streamEncoder.ts';
import type { IdHabit, Payload, ShownUsage } from '../fields/answerFields.ts';
import { isBrokenOff, isObject, isOfAnotherCall, readFinishReason, statusOf } from '../fields/answerFields.ts';

/** The meaning of an engine's non-streaming answer for the client. */
export type WholeAnswer =
  /** Payload and usage are undefined if the engine sent no count; such an answer is not sent to the client. */
  | { kind: 'answer'; payload: Payload | undefined; usage: ShownUsage | undefined; hasToolCall: boolean }
  /** The engine sent an error in a body with HTTP 200. */
  | { kind: 'error'; status: number }
  | { kind: 'broken' }
  /** The answer is for another call. */
  | { kind: 'foreign' };

export interface AnswerOptions extends AnswerTerms {
  engine: IdHabit;
}

export const toPayload = (body: object | undefined): string | undefined => body && JSON.stringify(body);

/** Reads an engine's JSON answer, its first choice and its finish reason; or says why the answer is unusable. */
export function readAnswer(
  bytes: Buffer,
  call: Pick<AnswerOptions, 'callId' | 'engine'>,
):
  | { kind: 'read'; answer: Record<string, unknown>; choice: Record<string, unknown>; finishReason: string }
  | Exclude<WholeAnswer, { kind: 'answer' }> {
  const answer = parseEngineJson(bytes);
  if (!isObject(answer)) return { kind: 'broken' };
  if (isOfAnotherCall(answer, call)) return { kind: 'foreign' };
  if (isObject(answer.error)) return { kind: 'error', status: statusOf(answer.error) };
  const [choice] = Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  if (!isObject(choice)) return { kind: 'broken' };
  // A non-streaming answer without a reason has ended: engines that write "" mean `stop`.
  const finishReason = choice.finish_reason === '' ? 'stop' : readFinishReason(choice);
  if (typeof finishReason !== 'string' || isBrokenOff(finishReason)) return { kind: 'error', status: 500 };
  return { kind: 'read', answer, choice, finishReason };
}
