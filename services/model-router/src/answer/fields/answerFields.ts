import { randomUUID } from 'node:crypto';
import { type NanoUsd, toUsdNumber } from '@turnpike/money/nanoUsd';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import type { EngineUsage } from '../../money/call/openCalls.ts';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The status an engine put into an error that came with 200. */
export const statusOf = (error: Record<string, unknown>): number => (typeof error.code === 'number' ? error.code : 500);

/** What all parts of one answer share. */
export interface AnswerIdentity {
  id: string;
  /** Unix time in seconds. */
  created: number;
}

/** More of an engine's id is no id: it would be kept for as long as the stream lasts, and stand in each chunk. */
export const MAX_ID_LENGTH = 256;

/** The identity an engine gave its answer; what it left out, or wrote in another form, is made up for. */
export function readIdentity({ id, created }: Record<string, unknown>, idPrefix: string): AnswerIdentity {
  return {
    id: typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : `${idPrefix}-${randomUUID()}`,
    created: Number.isSafeInteger(created) && Number(created) >= 0 ? Number(created) : Math.floor(Date.now() / 1_000),
  };
}

/** A UUIDv7, as call ids are. */
const CALL_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/;

/** Whether the ids of an engine's answers repeat the id of their call, as those of vLLM do. Learned from its answers. */
export interface IdHabit {
  repeatsCallIds: boolean;
}

/** Returns whether an engine that repeats call ids has answered another call. The ids of other engines say nothing. */
export function isOfAnotherCall(
  { id }: Record<string, unknown>,
  { callId, engine }: { callId: string; engine: IdHabit },
): boolean {
  if (typeof id !== 'string') return false;
  if (id.includes(callId)) engine.repeatsCallIds = true;
  else return engine.repeatsCallIds && CALL_ID.test(id);
  return false;
}

/** What of a message or a delta is passed on beside tool calls, as the client gets it. */
export interface MessageFields {
  content?: string | null;
  refusal?: string | null;
  reasoning?: string;
  reasoning_content?: string;
}

const isTextOrNull = (value: unknown): value is string | null => typeof value === 'string' || value === null;

/**
 * Picks the fields of an engine's message or delta that clients know: `content`, `refusal` and the reasoning. Whatever else
 * an engine writes there stays inside. Undefined where one of them is neither a text nor null.
 *
 * Engines call the reasoning `reasoning` or, up to 2025, `reasoning_content`, and clients read the one or the other: it is
 * shown under both names, so that no client depends on the release of the engine that happened to serve it.
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

/** The tool calls of a message or delta, as the engine wrote them; some engines write one without a list. None where the field is absent or null. */
export function toolCallsOf({ tool_calls: calls = null }: Record<string, unknown>): readonly unknown[] {
  if (calls === null) return [];
  return Array.isArray(calls) ? calls : [calls];
}

/**
 * The finish reason a client reads, one of the convention's. An answer that was not cut short ends with `tool_calls` if it
 * calls a tool and with `stop` if it does not, whatever its engine says: engines say `stop` where the tool was named by the
 * request, and newer ones know reasons of their own.
 */
export function toShownFinishReason(reason: string, { hasToolCall }: { hasToolCall: boolean }): FinishReason {
  if (reason === 'length' || reason === 'content_filter') return reason;
  return hasToolCall ? 'tool_calls' : 'stop';
}

/** The finish reason of an engine's choice, null while it gives none. Some engines write `""` for none. Undefined where it is no text. */
export function readFinishReason({ finish_reason: reason = null }: Record<string, unknown>): string | null | undefined {
  if (reason === null || reason === '') return null;
  return typeof reason === 'string' ? reason : undefined;
}

/** More of a stop's text than a request may have is none of its own. */
const MAX_STOP_LENGTH = 4_096;

/** The text of `stop` that ended an answer. Undefined where none did, or the engine does not say: vLLM does. */
export function readStopText({ stop_reason: text }: Record<string, unknown>): string | undefined {
  return typeof text === 'string' && text !== '' && text.length <= MAX_STOP_LENGTH ? text : undefined;
}

/** Reasons with which an engine says that it broke an answer off. */
export const isBrokenOff = (reason: unknown): boolean => reason === 'abort' || reason === 'error';

/** An engine's count with what clients are told beyond what they are billed for. */
export interface ShownUsage extends EngineUsage {
  /** Part of the completion that was thinking; an engine that does not say counts as none. */
  reasoningTokens: number;
}

const MAX_COUNT = 2 ** 31 - 1;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;

/** A count that an engine may leave out, alone or together with others, which is 0 then. Undefined where it is none. */
function countIn(counts: unknown, key: string): number | undefined {
  if (counts === undefined || counts === null) return 0;
  if (!isObject(counts)) return undefined;
  const count = counts[key];
  if (count === undefined || count === null) return 0;
  return isCount(count) ? count : undefined;
}

/** Reads an engine's `usage`. Undefined where it is absent or no count at all (negative, fractional, beyond 2^31): never guessed. */
export function readEngineUsage(usage: unknown): ShownUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: promptTokens } = usage;
  const completionTokens = countIn(usage, 'completion_tokens');
  const cachedTokens = countIn(usage.prompt_tokens_details, 'cached_tokens');
  if (!isCount(promptTokens) || completionTokens === undefined || cachedTokens === undefined) return undefined;
  // Nothing is charged by it, so a wrong one is no reason to refuse the count it stands in.
  const reasoningTokens = countIn(usage.completion_tokens_details, 'reasoning_tokens') ?? 0;
  return {
    promptTokens,
    completionTokens,
    cachedPromptTokens: Math.min(cachedTokens, promptTokens),
    reasoningTokens: Math.min(reasoningTokens, completionTokens),
  };
}

/** The `usage` a client reads, with its charge. Both cache counts are 0 on models that are not cache-capable. */
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

/** Content for a client: text that was written here, or bytes that were copied. */
export type Payload = string | Buffer;
