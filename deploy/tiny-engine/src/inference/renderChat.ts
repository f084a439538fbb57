import type { Token } from 'node-llama-cpp';
import { controlToken } from '../model/vocabulary.ts';

export type ChatRole = 'system' | 'user' | 'assistant' | 'tool';

export interface ChatMessage {
  role: ChatRole;
  text: string;
}

/** The tokens of a text. Names of control tokens in it are ordinary text: a client cannot forge a message. */
export type Encode = (text: string) => Token[];

/** A prompt that text continues: one token before it. */
export const renderText = (text: string, encode: Encode): Token[] => [controlToken('<|begin|>'), ...encode(text)];

/** The chat template: 1 token, 2 more for each message, and 1 that opens the answer. */
export function renderChat(
  messages: readonly ChatMessage[],
  { encode, addGenerationPrompt }: { encode: Encode; addGenerationPrompt: boolean },
): Token[] {
  return [
    controlToken('<|begin|>'),
    ...messages.flatMap(({ role, text }) => [controlToken(`<|${role}|>`), ...encode(text), controlToken('<|end|>')]),
    ...(addGenerationPrompt ? [controlToken('<|assistant|>')] : []),
  ];
}
