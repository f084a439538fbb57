import { parseChatRequest } from '../src/wire/chatRequest.ts';
import type { InferenceRequest } from '../src/wire/inferenceRequest.ts';
import type { JsonBody } from '../src/wire/readBody.ts';
import { scanJson } from '../src/wire/scanJson.ts';

const MAX_TEXT_BYTES = 4 * 1_048_576;

/** A body as `readBody` would hand it over, from its JSON text. */
export function aJsonBody(text: string): JsonBody {
  const bytes = Buffer.from(text);
  const { members } = scanJson(bytes, { depth: 64, values: 100_000, members: 512, textBytes: MAX_TEXT_BYTES });
  return { bytes, value: JSON.parse(text), members, maxTextBytes: MAX_TEXT_BYTES };
}

/** A checked chat request of these fields, beside a model and a message. */
export function aChatRequest(fields: object = {}): InferenceRequest {
  const body = { model: 'small-chat', messages: [{ role: 'user', content: 'Hello' }], ...fields };
  return parseChatRequest(aJsonBody(JSON.stringify(body)));
}
