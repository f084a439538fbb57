import type { PricedModel } from '../catalog/catalog.ts';
import { isInline } from '../images/decodeInlineImage.ts';
import { replaceImageUrls } from '../images/replaceImageUrls.ts';
import type { InferenceRequest } from './inferenceRequest.ts';

/** Set by the router alone, or understood by it alone: the client's own never reach the engine. */
const OWNED_KEYS = new Set([
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'cache_salt',
  'n',
  'logprobs',
  'top_logprobs',
  'user',
]);

/**
 * The body the engine gets: the client's bytes, with the members the router owns put in their place. Copying ranges
 * instead of writing JSON anew keeps 64-bit seeds digit for digit and costs nothing for large inline images. Throws if an
 * image that is not inline was not fetched.
 */
export function toEngineBody(
  request: InferenceRequest,
  {
    model,
    servedName,
    maxOutputTokens,
    cacheSalt,
  }: { model: PricedModel; servedName: string; maxOutputTokens: number; cacheSalt: string },
): Buffer {
  const owned: Record<string, unknown> = {
    model: servedName,
    cache_salt: cacheSalt,
    ...(request.operation !== 'embeddings' && { max_tokens: maxOutputTokens }),
    ...(request.isStream && {
      stream: true,
      // A cut stream still has the engine's own count: every chunk carries the running usage, which is edited out again.
      stream_options: { include_usage: true, continuous_usage_stats: true },
    }),
  };
  const replaced = request.replacedMembers(model);
  const { urls, fetched } = request.images;
  const expected = urls.filter((url) => !isInline(url)).length;
  const pieces: Buffer[] = [Buffer.from(JSON.stringify(owned).slice(0, -1))];
  const { bytes, members, value } = request.body;
  // Of a key that stands twice only the last is sent, the one that was checked: not every parser takes the last.
  const lastOfKey = new Map(members.map((member) => [member.key, member]));
  for (const { key, start, end } of lastOfKey.values()) {
    if (OWNED_KEYS.has(key) || value[key] === null) continue;
    const replacement = replaced.get(key);
    if (replaced.has(key) && replacement === undefined) continue;
    const member = replaced.has(key)
      ? Buffer.from(`${JSON.stringify(key)}:${JSON.stringify(replacement)}`)
      : bytes.subarray(start, end);
    pieces.push(COMMA, ...(key === 'messages' ? replaceImageUrls(member, { fetched, expected }) : [member]));
  }
  pieces.push(CLOSE);
  return Buffer.concat(pieces);
}

const COMMA = Buffer.from(',');
const CLOSE = Buffer.from('}');
