import type { EngineContext } from '@turnpike/engine-simulator/http/engineContext';
import type { ChatMessage } from '@turnpike/engine-simulator/tokenizer/renderChat';
import type { Token } from 'node-llama-cpp';
import { controlToken } from './model/vocabulary.ts';

const roleTokens: Record<ChatMessage['role'], Token> = {
  system: controlToken('<|system|>'),
  developer: controlToken('<|system|>'),
  user: controlToken('<|user|>'),
  assistant: controlToken('<|assistant|>'),
  tool: controlToken('<|tool|>'),
  function: controlToken('<|tool|>'),
};

/**
 * Prompts as tokens. A text has one token before it. A chat has that token, two more for each message, and one that opens the
 * answer. Names of control tokens in a text are ordinary text, as `encode` reads them: a client cannot forge a message.
 */
export const createTokenizer = (encode: (text: string) => Token[]): EngineContext['tokenizer'] => ({
  renderText: (text) => [controlToken('<|begin|>'), ...encode(text)],
  renderChat: (messages, { addGenerationPrompt }) => [
    controlToken('<|begin|>'),
    ...messages.flatMap(({ role, parts }) => [
      roleTokens[role],
      ...encode(parts.map((part) => ('text' in part ? part.text : '')).join('')),
      controlToken('<|end|>'),
    ]),
    ...(addGenerationPrompt ? [roleTokens.assistant] : []),
  ],
});
