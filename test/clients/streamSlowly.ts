import type { TestStack } from '../support/startTestStack.ts';
import type { Client } from './client.ts';

/** A chat whose first event comes after the headers and comments that keep the connection alive. */
export const SLOW_CHAT = {
  model: 'llama-3.3-70b-instruct',
  prompt: 'hi [[sim: ttft_ms=3500 itl_ms=500 text="Well, here I am."]]',
};
export const SLOW_ANSWER = { text: 'Well, here I am.', finishReason: 'stop' };

/** Returns what a client library shows of the stream of that chat, with a model of the stack. */
export async function streamSlowly(
  client: Client,
  { baseUrl, apiKey }: Pick<TestStack, 'baseUrl' | 'apiKey'>,
  model = SLOW_CHAT.model,
) {
  const { prompt } = SLOW_CHAT;
  const { text, finishReason } = await client.obey(
    { do: 'chat', model, messages: [{ role: 'user', text: prompt }], stream: true },
    { baseUrl, apiKey, maxRetries: 0 },
  );
  return { text, finishReason };
}
