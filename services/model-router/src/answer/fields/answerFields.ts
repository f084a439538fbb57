import { randomUUID } from 'node:crypto';
import { type NanoUsd, toUsdNumber } from '@turnpike/money/nanoUsd';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import type { EngineUsage } from '../../money/call/toEvent.ts';

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value an engine's JSON stands for; undefined where it is no JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The status an engine put into an error that came with 200. */
export const statusOf = (error: Record<string, unknown>): number => (typeof error.code === 'number' ? error.code : 500);

/** What all parts of one answer share. */
export interface AnswerIdentity {
  id: string;
  /** Unix time in seconds. */
  created: number;
}

/** The identity an engine gave its answer; what it left out, or wrote in another form, is made up for. */
export function readIdentity({ id, created }: Record<string, unknown>, idPrefix: string): AnswerIdentity {
  return {
    id: typeof id === 'string' && id !== '' ? id : `${idPrefix}-${randomUUID()}`,
    created: Number.isSafeInteger(created) && Number(created) >= 0 ? Number(created) : Math.floor(Date.now() / 1_000),
  };
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
 * an engine writes there stays inside. Undefined where the content is no text.
 *
 * Engines call the reasoning `reasoning` or, up to 2025, `reasoning_content`, and clients read the one or the other: it is
 * shown under both names, so that no client depends on the release of the engine that happened to serve it.
 */
export function pickMessageFields(message: Record<string, unknown>): MessageFields | undefined {
  const { content, refusal } = message;
  if (content !== undefined && !isTextOrNull(content)) return undefined;
  const reasonings = [message.reasoning, message.reasoning_content].filter((text) => typeof text === 'string');
  const reasoning = reasonings.find((text) => text !== '') ?? reasonings[0];
  return {
    ...(content !== undefined && { content }),
    ...(isTextOrNull(refusal) && { refusal }),
    ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
  };
}

/** The tool calls of a message or delta, as the engine wrote them; none where the field is absent, null or no list. */
export const toolCallsOf = ({ tool_calls: calls }: Record<string, unknown>): readonly unknown[] =>
  Array.isArray(calls) ? calls : [];

/**
 * The finish reason a client reads, one of the convention's. An answer that was not cut short ends with `tool_calls` if it
 * calls a tool and with `stop` if it does not, whatever its engine says: engines say `stop` where the tool was named by the
 * request, and newer ones know reasons of their own.
 */
export function toShownFinishReason(reason: string, { hasToolCall }: { hasToolCall: boolean }): FinishReason {
  if (reason === 'length' || reason === 'content_filter') return reason;
  return hasToolCall ? 'tool_calls' : 'stop';
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

/** A count that an engine may leave out, which is 0 then. Undefined where it is none. */
function countOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return 0;
  return isCount(value) ? value : undefined;
}

/** The same of a count among others that may be left out together. */
function countIn(details: unknown, key: string): number | undefined {
  if (details === undefined || details === null) return 0;
  return isObject(details) ? countOf(details[key]) : undefined;
}

/** Reads an engine's `usage`. Undefined where it is absent or no count at all (negative, fractional, beyond 2^31): never guessed. */
export function readEngineUsage(usage: unknown): ShownUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: promptTokens } = usage;
  const completionTokens = countOf(usage.completion_tokens);
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

/** The `usage` a client reads, with its charge. Both cache counts are 0 on models that are not cache-capable (specification, Chat response fields). */
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
