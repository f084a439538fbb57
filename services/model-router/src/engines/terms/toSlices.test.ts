import { expect, it } from '@jest/globals';
import { toSlices } from './engineJson.ts';

const LIMIT = 262_144;

const toPieces = (lengths: number[]) => lengths.map((length, index) => Buffer.alloc(length, index + 1));

it.each([[[5]], [[1, 2, 3]], [[LIMIT]], [[LIMIT - 1, 1]]])('writes pieces of %j bytes as one', (lengths) => {
  const pieces = toPieces(lengths);
  expect(toSlices(pieces)).toEqual([Buffer.concat(pieces)]);
});

it.each([[[LIMIT + 1]], [[3, LIMIT, 5]], [[1, 3 * LIMIT, 0, 7]]])('writes pieces of %j bytes in slices', (lengths) => {
  const pieces = toPieces(lengths);
  const slices = toSlices(pieces);
  expect(slices.every(({ length }) => length > 0 && length <= LIMIT)).toBe(true);
  expect(Buffer.concat(slices).equals(Buffer.concat(pieces))).toBe(true);
});
