import { type JsonBody, toJsonBody } from '@turnpike/request-reading/body/readBody';
import { KEPT_IN_CHATS, parseChatRequest } from '../src/request/chatRequest.ts';
import type { InferenceRequest } from '../src/request/inferenceRequest.ts';

const MAX_TEXT_BYTES = 4 * 1_048_576;

/** A body as `readBody` would hand it over, from its JSON text. */
export const aJsonBody = (text: string): JsonBody =>
  toJsonBody(Buffer.from(text), { maxTextBytes: MAX_TEXT_BYTES, kept: KEPT_IN_CHATS });

/** A checked chat request of these fields, beside a model and a message. */
export function aChatRequest(fields: object = {}): InferenceRequest {
  const body = { model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }], ...fields };
  return parseChatRequest(aJsonBody(JSON.stringify(body)));
}
