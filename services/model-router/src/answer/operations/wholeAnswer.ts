import { parseEngineJson } from '../../engines/terms/engineJson.ts';
import type { AnswerTerms } from '../chunks/streamEncoder.ts';
import type { IdHabit, Payload, ShownUsage } from '../fields/answerFields.ts';
import { isBrokenOff, isObject, isOfAnotherCall, readFinishReason, statusOf } from '../fields/answerFields.ts';

/** What an engine's whole answer means for the client. */
export type WholeAnswer =
  /** Payload and usage are undefined where the engine counted nothing: such an answer is not handed out. */
  | { kind: 'answer'; payload: Payload | undefined; usage: ShownUsage | undefined; hasToolCall: boolean }
  /** The engine put an error into a body that came with 200. */
  | { kind: 'error'; status: number }
  | { kind: 'broken' }
  /** It answers another call. */
  | { kind: 'foreign' };

export interface AnswerOptions extends AnswerTerms {
  engine: IdHabit;
}

export const toPayload = (body: object | undefined): string | undefined => body && JSON.stringify(body);

/** An engine's JSON answer with its first choice and the reason it gives for its end; or what it is instead. */
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
  // A whole answer without a reason has ended all the same: engines that write "" mean `stop`.
  const finishReason = choice.finish_reason === '' ? 'stop' : readFinishReason(choice);
  if (typeof finishReason !== 'string' || isBrokenOff(finishReason)) return { kind: 'error', status: 500 };
  return { kind: 'read', answer, choice, finishReason };
}
