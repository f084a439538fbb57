import { hasRepeatedKey, readJson } from '../../attacks/readJson.ts';

const MAX_DEPTH = 64;

/**
 * Returns whether a body must be rejected. The gateway serves only JSON objects of Unicode text, nested at most 64 deep, without
 * duplicate keys.
 */
export function isUnsendable(bytes: Buffer): boolean {
  let text: string;
  let value: unknown;
  try {
    // A byte order mark before the body is skipped, one.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/^\ufeff/, '');
    value = JSON.parse(text);
  } catch {
    return true;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return !isObject || hasUnsendable(value) || repeatsKey(text);
}

/** Longest text that is checked. Checking a longer one would take longer than sending it. */
const MAX_LENGTH = 65_536;

/** True if an object has a key twice. The first value, which no parser shows, may be nested deeper than the stack. */
function repeatsKey(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  try {
    return hasRepeatedKey(readJson(text));
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

/** Level by level, as a hostile value may be deeper than the stack. */
function hasUnsendable(root: unknown): boolean {
  let level = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    const texts = level.flatMap((value) => (isHolder(value) && !Array.isArray(value) ? Object.keys(value) : []));
    const isTooDeep = depth >= MAX_DEPTH && level.some(isHolder);
    if (isTooDeep || [...level, ...texts].some(isBadText)) return true;
    level = level.flatMap((value) => (isHolder(value) ? Object.values(value) : []));
  }
  return false;
}

const isHolder = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isBadText = (value: unknown): boolean =>
  typeof value === 'string' && (value.includes('\0') || !value.isWellFormed());
