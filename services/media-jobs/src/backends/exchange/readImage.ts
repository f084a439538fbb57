import { BackendFault } from '../../terms/backend.ts';
import { MAX_AROUND_IMAGE_BYTES, MAX_IMAGE_BYTES } from '../limits.ts';
import type { Answer } from './askBackend.ts';
import { readBytes } from './contentStream.ts';

/** Within a text of JSON quotes are escaped, so that this can only be a key and the beginning of its value. */
const KEY = /"b64_json"\s*:\s*"/;
/** Bytes to keep of a skipped part, because they may hold the beginning of a key. */
const KEPT_CHARACTERS = 64;
/** Base64 grows by a third, and may be escaped. */
const MAX_ANSWER_BYTES = MAX_IMAGE_BYTES * 1.5 + MAX_AROUND_IMAGE_BYTES;

/**
 * The first image within an answer of JSON, decoded as it comes: neither the answer nor its base64 is ever held as a whole.
 * `failed` where there is none.
 */
export async function* readImage(answer: Answer): AsyncGenerator<Buffer> {
  const chunks = readBytes(answer, { maxBytes: MAX_ANSWER_BYTES });
  let state: 'before' | 'within' | 'behind' = 'before';
  let kept = '';
  let aroundBytes = 0;
  let imageBytes = 0;

  for await (const chunk of chunks) {
    let text: string = kept + chunk.toString('latin1');
    kept = '';
    if (state === 'before') {
      const key = KEY.exec(text);
      if (key) {
        state = 'within';
        text = text.slice(key.index + key[0].length);
      }
    }
    if (state !== 'within') {
      // The rest is read as well, so that the connection can be used again.
      aroundBytes += chunk.length;
      if (aroundBytes > MAX_AROUND_IMAGE_BYTES)
        throw new BackendFault('failed', { cause: new Error('too much around it') });
      if (state === 'before') kept = text.slice(-KEPT_CHARACTERS);
      continue;
    }
    const end = text.indexOf('"');
    const base64 = (end === -1 ? text : text.slice(0, end)).replace(/[\\\s]/g, '');
    const usable = end === -1 ? base64.length - (base64.length % 4) : base64.length;
    const bytes = Buffer.from(base64.slice(0, usable), 'base64');
    imageBytes += bytes.length;
    if (imageBytes > MAX_IMAGE_BYTES) throw new BackendFault('failed', { cause: new Error('the image is too large') });
    if (bytes.length > 0) yield bytes;
    if (end === -1) kept = base64.slice(usable);
    else state = 'behind';
  }
  if (state !== 'behind') throw new BackendFault('failed', { cause: new Error('no whole image in the answer') });
}
