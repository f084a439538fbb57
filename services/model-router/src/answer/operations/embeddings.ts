import { toUsdNumber } from '@turnpike/money/nanoUsd';
import type { EmbeddingList } from '@turnpike/public-api/embeddingList';
import { findEngineMembers, parseEngineJson } from '../../engines/terms/engineJson.ts';
import { isObject, isOfAnotherCall, readEngineUsage, statusOf } from '../fields/answerFields.ts';
import type { AnswerOptions, WholeAnswer } from './wholeAnswer.ts';

/** A member of a vector's object, and the separator after it. */
const MEMBER = /\s*"(\w+)"\s*:\s*("[^"\\]*"|\[[^\]"{]*\]|-?\d+|null)\s*([,}])/y;
const NUMBER = String.raw`\s*-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*`;
/** A vector as JSON numbers or as base64. */
const VECTOR = new RegExp(String.raw`^(?:\[(?:${NUMBER}(?:,${NUMBER})*)?\]|"[A-Za-z0-9+/]*={0,2}")$`);

/**
 * Converts an engine's embeddings to the client's form. Two thousand vectors are tens of megabytes of digits, so
 * vectors are copied and never parsed. Each is first checked to have only numbers or base64. Returns `broken` for
 * anything else.
 */
export function editEmbeddingAnswer(bytes: Buffer, { canonicalModel, chargeOf, ...call }: AnswerOptions): WholeAnswer {
  const members = findEngineMembers(bytes);
  if (!members) return { kind: 'broken' };
  const error = parseEngineJson(members.get('error') ?? NOTHING);
  if (isObject(error)) return { kind: 'error', status: statusOf(error) };
  if (isOfAnotherCall({ id: parseEngineJson(members.get('id') ?? NOTHING) }, call)) return { kind: 'foreign' };
  const data = copyVectors(members.get('data')?.toString('latin1') ?? '');
  if (data === undefined) return { kind: 'broken' };
  const usage = readEngineUsage(parseEngineJson(members.get('usage') ?? NOTHING));
  if (!usage) return { kind: 'answer', payload: undefined, usage, hasToolCall: false };
  const rest = JSON.stringify({
    model: canonicalModel,
    usage: {
      prompt_tokens: usage.promptTokens,
      total_tokens: usage.promptTokens,
      cost: toUsdNumber(chargeOf(usage)),
    },
  } satisfies Omit<EmbeddingList, 'object' | 'data'>);
  const payload = Buffer.concat([
    Buffer.from(`{"object":"list","data":[${data}],`, 'latin1'),
    Buffer.from(rest.slice(1)),
  ]);
  return { kind: 'answer', payload, usage, hasToolCall: false };
}

const NOTHING = Buffer.from('null');

/**
 * Returns the elements of a JSON list of vectors, with the public fields only. Returns undefined if the text is no such
 * list.
 */
function copyVectors(list: string): string | undefined {
  if (!list.startsWith('[')) return undefined;
  if (/^\[\s*\]$/.test(list)) return '';
  const copied: string[] = [];
  let at = 1;
  for (;;) {
    const open = /\s*\{/y;
    open.lastIndex = at;
    if (!open.test(list)) return undefined;
    at = open.lastIndex;
    const fields = new Map<string, string>();
    for (let follows = ','; follows === ','; at = MEMBER.lastIndex) {
      MEMBER.lastIndex = at;
      const [, key = '', value = '', next = ''] = MEMBER.exec(list) ?? [];
      if (key === '' || fields.has(key)) return undefined;
      fields.set(key, value);
      follows = next;
    }
    const index = fields.get('index') ?? '';
    const vector = fields.get('embedding') ?? '';
    if (!/^\d+$/.test(index) || !VECTOR.test(vector)) return undefined;
    copied.push(`{"object":"embedding","index":${index},"embedding":${vector}}`);
    const close = /\s*(,|\]$)/y;
    close.lastIndex = at;
    const [, separator] = close.exec(list) ?? [];
    if (separator === undefined) return undefined;
    if (separator === ']') return copied.join(',');
    at = close.lastIndex;
  }
}
