import { randomUUID } from 'node:crypto';
import { type NanoUsd, toUsdNumber } from '@turnpike/money/nanoUsd';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import type { EngineUsage } from '../../money/call/openCalls.ts';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the status in an error that came with HTTP 200; 500 if it has none. */
export const statusOf = (error: Record<string, unknown>): number => (typeof error.code === 'number' ? error.code : 500);

/** The fields that all parts of one answer share. */
export interface AnswerIdentity {
  id: string;
  /** Unix time in seconds. */
  created: number;
}

/** Longest id that is taken from an engine. The id is kept for the whole stream and repeated in each chunk. */
export const MAX_ID_LENGTH = 256;

/** Returns the identity that an engine gave its answer. A missing or malformed field is made up. */
export function readIdentity({ id, created }: Record<string, unknown>, idPrefix: string): AnswerIdentity {
  return {
    id: typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : `${idPrefix}-${randomUUID()}`,
    created: Number.isSafeInteger(created) && Number(created) >= 0 ? Number(created) : Math.floor(Date.now() / 1_000),
  };
}

/** The pattern of call ids, which are UUIDv7. */
const CALL_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/;

/** Whether the ids of an engine's answers contain the id of their call, as with vLLM. Learned from its answers. */
export interface IdHabit {
  repeatsCallIds: boolean;
}

/** Returns whether the answer is for another call, by its id. Always false for engines that do not repeat call ids. */
export function isOfAnotherCall(
  { id }: Record<string, unknown>,
  { callId, engine }: { callId: string; engine: IdHabit },
): boolean {
  if (typeof id !== 'string') return false;
  if (id.includes(callId)) engine.repeatsCallIds = true;
  else return engine.repeatsCallIds && CALL_ID.test(id);
  return false;
}

/** The fields of a message or delta that are passed on, apart from tool calls, in the client's form. */
export interface MessageFields {
  content?: string | null;
  refusal?: string | null;
  reasoning?: string;
  reasoning_content?: string;
}

const isTextOrNull = (value: unknown): value is string | null => typeof value === 'string' || value === null;

/**
 * Picks the fields of an engine's message or delta that clients know: `content`, `refusal` and the reasoning. All other
 * fields are dropped. Returns undefined if one of the fields is neither a text nor null.
 *
 * Engines name the reasoning `reasoning` or, up to 2025, `reasoning_content`, and clients read either name. Both names
 * are sent, so that no client depends on the release of the serving engine.
 */
export function pickMessageFields(message: Record<string, unknown>): MessageFields | undefined {
  const { content, refusal, reasoning: newer, reasoning_content: older } = message;
  if (content !== undefined && !isTextOrNull(content)) return undefined;
  for (const text of [refusal, newer, older]) if (text !== undefined && !isTextOrNull(text)) return undefined;
  let reasoning: string | undefined;
  for (const text of [newer, older]) if (typeof text === 'string' && !reasoning) reasoning = text;
  return {
    ...(content !== undefined && { content }),
    ...(isTextOrNull(refusal) && { refusal }),
    ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
  };
}

/**
 * Returns the tool calls of a message or delta in the engine's form, none if the field is absent or null. Some engines
 * write a single call without a list.
 */
export function toolCallsOf({ tool_calls: calls = null }: Record<string, unknown>): readonly unknown[] {
  if (calls === null) return [];
  return Array.isArray(calls) ? calls : [calls];
}

/**
 * Returns the finish reason that a client reads, one of the convention's. An answer that was not cut short ends with
 * `tool_calls` if it calls a tool, else with `stop`. The engine's own reason is ignored there: engines say `stop` if
 * the request named the tool, and newer engines have further reasons.
 */
export function toShownFinishReason(reason: string, { hasToolCall }: { hasToolCall: boolean }): FinishReason {
  if (reason === 'length' || reason === 'content_filter') return reason;
  return hasToolCall ? 'tool_calls' : 'stop';
}

/**
 * Returns the finish reason of an engine's choice, null while there is none. Some engines write `""` for none. Returns
 * undefined if the reason is no text.
 */
export function readFinishReason({ finish_reason: reason = null }: Record<string, unknown>): string | null | undefined {
  if (reason === null || reason === '') return null;
  return typeof reason === 'string' ? reason : undefined;
}

/** Longest stop text that a request may have. A longer one in an answer cannot come from the request. */
const MAX_STOP_LENGTH = 4_096;

/**
 * Returns the text of `stop` that ended an answer. Returns undefined if none did, or if the engine does not report it;
 * vLLM does.
 */
export function readStopText({ stop_reason: text }: Record<string, unknown>): string | undefined {
  return typeof text === 'string' && text !== '' && text.length <= MAX_STOP_LENGTH ? text : undefined;
}

/** Returns whether a finish reason means that the engine broke the answer off. */
export const isBrokenOff = (reason: unknown): boolean => reason === 'abort' || reason === 'error';

/** An engine's count, with the figures that clients see and are not billed for. */
export interface ShownUsage extends EngineUsage {
  /** Part of the completion that was reasoning; 0 if the engine does not report it. */
  reasoningTokens: number;
}

const MAX_COUNT = 2 ** 31 - 1;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;

/**
 * Returns an optional count, 0 if the engine leaves out the count or its parent. Returns undefined if the value is no
 * count.
 */
function countIn(counts: unknown, key: string): number | undefined {
  if (counts === undefined || counts === null) return 0;
  if (!isObject(counts)) return undefined;
  const count = counts[key];
  if (count === undefined || count === null) return 0;
  return isCount(count) ? count : undefined;
}

/**
 * Reads an engine's `usage`. Returns undefined if it is absent or no count (negative, fractional, beyond 2^31); nothing
 * is guessed.
 */
export function readEngineUsage(usage: unknown): ShownUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: promptTokens } = usage;
  const completionTokens = countIn(usage, 'completion_tokens');
  const cachedTokens = countIn(usage.prompt_tokens_details, 'cached_tokens');
  if (!isCount(promptTokens) || completionTokens === undefined || cachedTokens === undefined) return undefined;
  // The charge does not depend on this count, so a malformed one does not invalidate the usage.
  const reasoningTokens = countIn(usage.completion_tokens_details, 'reasoning_tokens') ?? 0;
  return {
    promptTokens,
    completionTokens,
    cachedPromptTokens: Math.min(cachedTokens, promptTokens),
    reasoningTokens: Math.min(reasoningTokens, completionTokens),
  };
}

/**
 * Returns the `usage` that a client reads, with its charge. Both cache counts are 0 on models that are not
 * cache-capable.
 */
export function toUsageBody(
  usage: ShownUsage,
  { isCacheCapable, chargeOf }: { isCacheCapable: boolean; chargeOf: (usage: EngineUsage) => NanoUsd },
): TokenUsage {
  const { promptTokens, completionTokens, cachedPromptTokens, reasoningTokens } = usage;
  const cached = isCacheCapable ? cachedPromptTokens : 0;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: isCacheCapable ? promptTokens - cached : 0,
    cost: toUsdNumber(chargeOf(usage)),
  };
}

/** Content for a client: a text written by the router, or bytes copied from the engine. */
export type Payload = string | Buffer;
