import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

/**
 * Any character of Unicode: draws what fast-check's unit `binary` draws, with the same seed. That one makes a table of all of
 * the million there are first, which takes a second and a half in each file.
 */
export const aCharacter = fc.integer({ min: 0, max: LAST - SURROGATES }).map(toCharacter, toPlace);

function toCharacter(place: number): string {
  return String.fromCodePoint(place < FIRST_SURROGATE ? place : place + SURROGATES);
}

function toPlace(character: unknown): number {
  const [point, ...more] = typeof character === 'string' ? [...character].map((each) => each.codePointAt(0) ?? 0) : [];
  const isSurrogate = point !== undefined && point >= FIRST_SURROGATE && point < FIRST_SURROGATE + SURROGATES;
  if (point === undefined || more.length > 0 || isSurrogate) throw new Error('this is no character');
  return point < FIRST_SURROGATE ? point : point - SURROGATES;
}
