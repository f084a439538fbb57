import type { AskedFor } from '../http/engineContext.ts';
import { encode } from '../tokenizer/tokenizer.ts';
import type { ChatRequest } from '../wire/chatRequest.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';
import type { Directives } from './directives.ts';
import { jsonValueOf } from './jsonValue.ts';
import { fixedTokens, type OutputPlan, type Segment, type TokenSource } from './outputPlan.ts';
import { planToolCalls } from './planToolCalls.ts';
import { randomTextToken } from './randomText.ts';

/** Answers that nothing steers have this many tokens and up to `SPREAD_TOKENS` more. */
const SHORTEST_TOKENS = 24;
const SPREAD_TOKENS = 72;
const LENGTH_COUNTER = 0x7fff_ffff;
/** A reasoning model thinks this many tokens and up to `SPREAD_THOUGHT_TOKENS` more. */
const SHORTEST_THOUGHT_TOKENS = 8;
const SPREAD_THOUGHT_TOKENS = 24;
const THOUGHT_KEY = 0x7265_6173;

const ANY_OBJECT = { type: 'object', properties: { answer: { type: 'string' }, count: { type: 'integer' } } };

export interface PlanOptions {
  directives: Directives;
  /** Decides everything left open. */
  key: RandomKey;
  /** Whether the model thinks before it answers. */
  isReasoningModel: boolean;
}

/** Plans the output for a request. */
export function planOutput(asked: AskedFor, options: PlanOptions): OutputPlan {
  if (asked.task === 'embedding') return { segments: [], finishReason: 'stop', isPooled: true };
  const plan = asked.task === 'chat' ? planChat(asked, options) : planText(asked, { ...options, before: 0 });
  return { ...plan, segments: plan.segments.filter(({ tokens }) => tokens.length > 0) };
}

function planChat(asked: AskedFor & { task: 'chat' }, options: PlanOptions): OutputPlan {
  const { request } = asked;
  const { directives, key } = options;
  const thought: Segment = { kind: 'reasoning', tokens: planThought(request, options) };
  const calls = planToolCalls(request, directives, key);
  if (calls.length > 0) {
    const content: Segment = { kind: 'content', tokens: fixedTokens(encode(directives.text ?? '')) };
    const isNamedChoice = typeof request.tool_choice === 'object';
    return { segments: [thought, content, ...calls], finishReason: isNamedChoice ? 'stop' : 'tool_calls' };
  }
  const said = planText(asked, { ...options, before: thought.tokens.length, json: toJsonText(request, key) });
  return { segments: [thought, ...said.segments], finishReason: 'stop' };
}

/** Text that is given, or random words, filled up with those to the length that is demanded; `before` it come so many tokens. */
function planText(
  { request, maxTokens }: { request: SamplingRequest; maxTokens: number },
  { directives, key, before, json }: PlanOptions & { before: number; json?: string | undefined },
): OutputPlan {
  const text = directives.text ?? json;
  const given = encode(text ?? '');
  const wanted = directives.tokens ?? SHORTEST_TOKENS + (draw(key, LENGTH_COUNTER) % SPREAD_TOKENS);
  // One token of what is wanted is the stop token; it comes after `min_tokens` others, and with `ignore_eos` never.
  const natural = text === undefined ? wanted - 1 - before : given.length;
  const least = (request.ignore_eos ? maxTokens : (request.min_tokens ?? 0)) - before;
  const tokens = {
    length: Math.max(natural, least, 0),
    at: (index: number) => given[index] ?? randomTextToken(key, index),
  };
  return { segments: [{ kind: 'content', tokens }], finishReason: 'stop' };
}

function planThought(request: ChatRequest, { directives, key, isReasoningModel }: PlanOptions): TokenSource {
  const isOff = request.chat_template_kwargs?.enable_thinking === false || request.reasoning_effort === 'none';
  if (isOff) return fixedTokens([]);
  if (directives.reasoning !== undefined) return fixedTokens(encode(directives.reasoning));
  if (!isReasoningModel) return fixedTokens([]);
  const thoughtKey = deriveKey(key, [THOUGHT_KEY]);
  const wanted = SHORTEST_THOUGHT_TOKENS + (draw(thoughtKey, 0) % SPREAD_THOUGHT_TOKENS);
  // Half of an answer with a given length stays for its content.
  const length = directives.tokens === undefined ? wanted : Math.min(wanted, Math.floor(directives.tokens / 2));
  return { length, at: (index) => randomTextToken(thoughtKey, index) };
}

function toJsonText({ response_format: format }: ChatRequest, key: RandomKey): string | undefined {
  switch (format?.type) {
    case 'json_object':
      return JSON.stringify(jsonValueOf(ANY_OBJECT, key));
    case 'json_schema':
      return JSON.stringify(jsonValueOf(format.json_schema?.schema ?? ANY_OBJECT, key));
    default:
      return undefined;
  }
}
