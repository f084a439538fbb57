import { encode } from '../tokenizer/tokenizer.ts';
import type { ChatRequest } from '../wire/chatRequest.ts';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';
import type { Directives } from './directives.ts';
import { jsonValueOf } from './jsonValue.ts';
import { fixedTokens, type OutputPlan, type Segment, type TokenSource } from './outputPlan.ts';
import { planText } from './planText.ts';
import { findCalledTools, planToolCalls } from './planToolCalls.ts';
import { randomTextToken } from './randomText.ts';

/** A reasoning model thinks this many tokens and up to `SPREAD_THOUGHT_TOKENS` more. */
const SHORTEST_THOUGHT_TOKENS = 8;
const SPREAD_THOUGHT_TOKENS = 24;
const THOUGHT_KEY = 0x7265_6173;

const ANY_OBJECT = { type: 'object', properties: { answer: { type: 'string' }, count: { type: 'integer' } } };

export interface PlanOptions {
  directives: Directives;
  /** Decides everything left open. */
  key: RandomKey;
  /** What the answer may have at most. */
  maxTokens: number;
  /** Whether the model thinks before it answers. */
  isReasoningModel: boolean;
}

/** What one choice of a chat will say. */
export function planOutput(request: ChatRequest, options: PlanOptions): OutputPlan {
  const { directives, key, maxTokens } = options;
  const reasoning = planReasoning(request, options);
  const segments: Segment[] = [{ kind: 'reasoning', tokens: reasoning }];
  const called = findCalledTools(request, directives);
  if (called.length > 0) {
    segments.push(
      { kind: 'content', tokens: fixedTokens(encode(directives.text ?? '')) },
      ...planToolCalls(called, key),
    );
  } else {
    const text = directives.text ?? toJsonText(request, key);
    const before = reasoning.length;
    segments.push({ kind: 'content', tokens: planText(request, { directives, key, maxTokens, before, text }) });
  }
  const isNamedChoice = typeof request.tool_choice === 'object' && request.tool_choice !== null;
  return {
    segments: segments.filter(({ tokens }) => tokens.length > 0),
    finishReason: called.length > 0 && !isNamedChoice ? 'tool_calls' : 'stop',
  };
}

function planReasoning(request: ChatRequest, { directives, key, isReasoningModel }: PlanOptions): TokenSource {
  const isOff = request.chat_template_kwargs?.enable_thinking === false || request.reasoning_effort === 'none';
  if (isOff) return fixedTokens([]);
  if (directives.reasoning !== undefined) return fixedTokens(encode(directives.reasoning));
  if (!isReasoningModel) return fixedTokens([]);
  const thoughtKey = deriveKey(key, [THOUGHT_KEY]);
  const wanted = SHORTEST_THOUGHT_TOKENS + (draw(thoughtKey, 0) % SPREAD_THOUGHT_TOKENS);
  // Half of an answer whose length is given is left for what is said aloud.
  const length = directives.tokens === undefined ? wanted : Math.min(wanted, Math.floor(directives.tokens / 2));
  return { length, at: (index) => randomTextToken(thoughtKey, index) };
}

function toJsonText(request: ChatRequest, key: RandomKey): string | undefined {
  switch (request.response_format?.type) {
    case 'json_object':
      return JSON.stringify(jsonValueOf(ANY_OBJECT, key));
    case 'json_schema':
      return JSON.stringify(jsonValueOf(request.response_format.json_schema?.schema ?? ANY_OBJECT, key));
    default:
      return undefined;
  }
}
