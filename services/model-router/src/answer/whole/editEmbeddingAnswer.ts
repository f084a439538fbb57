import { scanJson } from '../../request/scanJson.ts';
import { isObject, parseJson, statusOf } from '../fields/engineJson.ts';
import { readEngineUsage } from '../fields/engineUsage.ts';
import type { AnswerOptions, WholeAnswer } from './wholeAnswer.ts';

const NO_LIMITS = {
  depth: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
  membersOfOne: Number.POSITIVE_INFINITY,
  textBytes: Number.POSITIVE_INFINITY,
};

/**
 * An engine's embeddings as the client gets them. Two thousand vectors are tens of megabytes of digits: the list is
 * copied as it came, digit for digit, and only the few bytes around it are read.
 */
export function editEmbeddingAnswer(bytes: Buffer, { canonicalModel }: AnswerOptions): WholeAnswer {
  const members = new Map(
    scanJson(bytes, NO_LIMITS).members.map(({ key, valueStart, end }) => [key, bytes.subarray(valueStart, end)]),
  );
  const error = parseJson(members.get('error') ?? NOTHING);
  if (isObject(error)) return { kind: 'error', status: statusOf(error) };
  const data = members.get('data');
  if (!data) return { kind: 'broken' };
  const usage = readEngineUsage(parseJson(members.get('usage') ?? NOTHING));
  const rest = JSON.stringify({
    model: canonicalModel,
    ...(usage && { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } }),
  });
  const payload = Buffer.concat([Buffer.from('{"object":"list","data":'), data, Buffer.from(`,${rest.slice(1)}`)]);
  return { kind: 'answer', payload, usage, hasToolCall: false };
}

const NOTHING = Buffer.from('null');
