import type { UnsendableText } from '../faults/bodyFault.ts';

/** A text within a value, and the way there. */
export interface FoundText {
  path: PropertyKey[];
  has: UnsendableText;
}

/**
 * The first text in a parsed JSON value, keys included, that holds a NUL character or half a surrogate pair. JSON has both
 * only as `\u` escapes. A key is found at the object that has it.
 */
export function findUnsendableText(value: unknown): FoundText | undefined {
  if (typeof value === 'string') {
    const has = whatIsWrongWith(value);
    return has && { path: [], has };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  // Iterates over indexes, because a long list takes ten times as long with indexes as property names.
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    const inKey = typeof key === 'string' ? whatIsWrongWith(key) : undefined;
    if (inKey) return { path: [], has: inKey };
    const found = findUnsendableText((value as Record<string | number, unknown>)[key]);
    if (found) return { path: [key, ...found.path], has: found.has };
  }
  return undefined;
}

function whatIsWrongWith(text: string): UnsendableText | undefined {
  if (text.includes('\0')) return 'a NUL character';
  return text.isWellFormed() ? undefined : 'half a surrogate pair';
}
