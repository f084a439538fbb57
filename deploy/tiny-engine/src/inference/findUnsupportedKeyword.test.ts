import { describe, expect, it } from '@jest/globals';
import { findUnsupportedKeyword } from './findUnsupportedKeyword.ts';

const objectOf = (properties: object) => ({ type: 'object', properties, required: [], additionalProperties: false });

describe('findUnsupportedKeyword', () => {
  it.each([
    [
      'an object',
      objectOf({ name: { type: 'string', maxLength: 5 }, sizes: { type: 'array', items: { type: 'integer' } } }),
    ],
    ['choices', { oneOf: [{ enum: ['a', 1] }, { const: true }, { type: ['string', 'null'] }] }],
    ['a reference', { $defs: { point: objectOf({ x: { type: 'number' } }) }, $ref: '#/$defs/point' }],
  ])('finds none in %s', (_case, schema) => {
    expect(findUnsupportedKeyword(schema)).toBeUndefined();
  });

  it.each([
    ['anyOf', { anyOf: [{ type: 'string' }] }],
    ['pattern', objectOf({ name: { type: 'string', pattern: '^a' } })],
    ['minimum', { type: 'array', items: { type: 'integer', minimum: 1 } }],
    ['type', { type: 'text' }],
    ['type', { type: ['object', 'null'] }],
    ['type', objectOf({ anything: {} })],
    ['schema', objectOf({ name: 'string' })],
  ])('finds %s', (keyword, schema) => {
    expect(findUnsupportedKeyword(schema)).toBe(keyword);
  });
});
