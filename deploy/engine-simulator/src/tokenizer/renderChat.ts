import { hash } from 'node:crypto';
import { encode, imageToken, specialTokens, type TokenId } from './tokenizer.ts';

/** Prompt tokens of an image of any size. */
export const TOKENS_PER_IMAGE = 256;

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  /** Text and images in order; images by their URL. */
  parts: ({ text: string } | { imageUrl: string })[];
}

/**
 * Converts a conversation to prompt tokens. The template adds four tokens a message (start, role, end, newline) and
 * three a request (begin, and the start and role of the answer). Tool definitions count as the text of their JSON.
 */
export function renderChat(
  messages: readonly ChatMessage[],
  { tools, addGenerationPrompt }: { tools: readonly unknown[] | undefined; addGenerationPrompt: boolean },
): TokenId[] {
  const tokens: TokenId[] = [specialTokens.begin];
  if (tools) append(tokens, encode(JSON.stringify(tools)));
  for (const { role, parts } of messages) {
    tokens.push(specialTokens.messageStart, specialTokens[role]);
    for (const part of parts) {
      if ('text' in part) append(tokens, encode(part.text));
      else append(tokens, new Array<TokenId>(TOKENS_PER_IMAGE).fill(imageToken(hashOf(part.imageUrl))));
    }
    tokens.push(specialTokens.messageEnd, specialTokens.newline);
  }
  if (addGenerationPrompt) tokens.push(specialTokens.messageStart, specialTokens.assistant);
  return tokens;
}

const hashOf = (url: string): number => hash('sha1', url, 'buffer').readUInt32LE(0);

/** Appends like `push(...more)`, which would overflow the stack on a long prompt. */
function append(tokens: TokenId[], more: readonly TokenId[]): void {
  for (const token of more) tokens.push(token);
}
