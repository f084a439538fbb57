/** A 64-bit key of the counter-based generator: a draw depends on the key and the counter, on nothing drawn before. */
export interface RandomKey {
  low: number;
  high: number;
}

function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Derives a key from another and a list of numbers; equal parts give equal keys on every replica. */
export function deriveKey(parent: RandomKey, parts: readonly number[]): RandomKey {
  let { low, high } = parent;
  for (const part of parts) {
    low = Math.imul(low ^ part, 0x9e3779b1) ^ (low >>> 15);
    high = Math.imul(high ^ part, 0x85ebca77) ^ (high >>> 13);
  }
  return { low: mix(low), high: mix(high) };
}

/** Derives a key from another and a text. */
export function deriveKeyFromText(parent: RandomKey, text: string): RandomKey {
  return deriveKey(
    parent,
    Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)),
  );
}

/** 32 uniform bits: draw number `counter` of `key`. */
export function draw(key: RandomKey, counter: number): number {
  return mix(key.low ^ mix(Math.imul(counter, 0x9e3779b1) + key.high));
}
