import { hashBlocks } from '../../deploy/engine-simulator/src/engine/prefixCache.ts';
import { type ChatMessage, renderChat } from '../../deploy/engine-simulator/src/tokenizer/renderChat.ts';
import { decode, type TokenId, wordToken } from '../../deploy/engine-simulator/src/tokenizer/tokenizer.ts';
import { words } from '../../deploy/engine-simulator/src/tokenizer/vocabulary.ts';
import { hashPrefix, renderPrefix } from '../../services/model-router/src/engines/promptPrefix.ts';
import { CHAT } from '../../services/model-router/src/request/chatRequest.ts';
import { seededRandom } from '../seededRandom.ts';

/** The parameters of the workload. Tokens and numbers are ranges, evenly spread. */
const TENANTS = 40;
/** The n-th tenant has 1/n of the chats of the first. */
const ZIPF_EXPONENT = 1;
const CHATS = 250;
const TURNS: Range = [4, 12];
const SYSTEM_TOKENS: Range = [500, 4_000];
const USER_TOKENS: Range = [50, 650];
const ANSWER_TOKENS: Range = [20, 120];
/** Mean time from one turn to the next, as part of the whole workload's duration. */
const TURN_GAP = 0.06;

type Range = [least: number, most: number];

/** Part of the workload at its beginning, in which chats become as many as they stay and caches fill. It is not measured. */
export const WARM_UP = 0.4;

/** One call of the workload, as the engine and as the router see it. */
export interface Call {
  /** When it comes: 0 to 1, of the workload's duration. */
  at: number;
  cacheSalt: string;
  promptTokens: readonly TokenId[];
  /** The engine's hashes of the prompt, for the oracle. */
  promptBlocks: readonly number[];
  answer: readonly TokenId[];
  prefixHashes: readonly number[];
  promptBytes: number;
  estimatedPromptTokens: number;
}

/** Chats of several turns, each after a system prompt that all chats of a tenant share, in order of arrival. */
export function makeWorkload(seed: number): Call[] {
  const random = seededRandom(seed);
  const between = ([least, most]: Range): number => least + Math.floor(random() * (most - least + 1));
  const someTokens = (range: Range): TokenId[] =>
    Array.from({ length: between(range) }, () => wordToken(Math.floor(random() * words.length), { spaced: true }));
  const systemPrompts = Array.from({ length: TENANTS }, () => decode(someTokens(SYSTEM_TOKENS)));
  const shares = systemPrompts.map((_, index) => 1 / (index + 1) ** ZIPF_EXPONENT);
  const sum = shares.reduce((total, share) => total + share, 0);
  const someTenant = (): number => {
    let left = random() * sum;
    const tenant = shares.findIndex((share) => {
      left -= share;
      return left <= 0;
    });
    return Math.max(0, tenant);
  };

  const calls: Call[] = [];
  for (let chat = 0; chat < CHATS; chat += 1) {
    const tenant = someTenant();
    const messages: ChatMessage[] = [{ role: 'system', parts: [{ text: systemPrompts[tenant] ?? '' }] }];
    const turns = between(TURNS);
    let at = random();
    for (let turn = 0; turn < turns; turn += 1) {
      messages.push({ role: 'user', parts: [{ text: decode(someTokens(USER_TOKENS)) }] });
      const answer = someTokens(ANSWER_TOKENS);
      if (at < 1) calls.push(toCall(at, { cacheSalt: `tenant ${tenant}`, messages, answer }));
      messages.push({ role: 'assistant', parts: [{ text: decode(answer) }] });
      at -= TURN_GAP * Math.log(1 - random());
    }
  }
  return calls.sort((a, b) => a.at - b.at);
}

function toCall(
  at: number,
  { cacheSalt, messages, answer }: { cacheSalt: string; messages: readonly ChatMessage[]; answer: readonly TokenId[] },
): Call {
  const promptTokens = renderChat(messages, { tools: undefined, addGenerationPrompt: true });
  const written = { messages: messages.map(({ role, parts: [part] }) => ({ role, content: textOf(part) })) };
  const { beginning, bytes } = renderPrefix({ operation: CHAT, written });
  return {
    at,
    cacheSalt,
    promptTokens,
    promptBlocks: hashBlocks(promptTokens, cacheSalt),
    answer,
    prefixHashes: hashPrefix(cacheSalt, beginning),
    promptBytes: bytes,
    estimatedPromptTokens: Math.ceil(bytes / 4),
  };
}

const textOf = (part: ChatMessage['parts'][number] | undefined): string => (part && 'text' in part ? part.text : '');
