import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { jsonValueOf } from './jsonValue.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const anyKey = fc.record({ low: fc.integer(), high: fc.integer() });

const bounds = fc
  .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 0, max: 20 }))
  .map(([minimum, spread]) => ({ minimum, maximum: minimum + spread }));
const { schema: anySchema } = fc.letrec<{ schema: object; object: object; array: object; leaf: object }>((tie) => ({
  leaf: fc.oneof(
    fc.constant({ type: 'boolean' }),
    fc.constant({ type: 'null' }),
    bounds.map((range) => ({ type: 'integer', ...range })),
    bounds.map(({ minimum, maximum }) => ({ type: 'number', minimum: minimum / 7, maximum: maximum / 7 })),
    fc
      .tuple(fc.nat(12), fc.nat(12))
      .map(([minLength, spread]) => ({ type: 'string', minLength, maxLength: minLength + spread })),
    fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
    fc.integer().map((value) => ({ const: value })),
  ),
  array: fc
    .tuple(tie('schema'), fc.nat(3), fc.nat(3))
    .map(([items, minItems, spread]) => ({ type: 'array', items, minItems, maxItems: minItems + spread })),
  object: fc
    .tuple(fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tie('schema'), { maxKeys: 4 }), fc.boolean())
    .map(([properties, isStrict]) => ({
      type: 'object',
      properties,
      required: Object.keys(properties).slice(isStrict ? 0 : 2),
      ...(isStrict && { additionalProperties: false }),
    })),
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    tie('array'),
    tie('object'),
    fc.array(tie('leaf'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
  ),
}));

describe('a value made from a JSON schema', () => {
  it('is the same for the same key', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } };
    fc.assert(fc.property(anyKey, (key) => expect(jsonValueOf(schema, { ...key })).toEqual(jsonValueOf(schema, key))));
  });

  it('is valid for the schema, as an independent reader of schemas says', () => {
    fc.assert(
      fc.property(anySchema, anyKey, (schema, key) => {
        const value: unknown = JSON.parse(JSON.stringify(jsonValueOf(schema, key)));
        const verdict = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(value);
        expect(verdict.error?.issues ?? []).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('has every required name, also those without a description', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a', 'b'] };
    expect(Object.keys(jsonValueOf(schema, { low: 1, high: 2 }) as object)).toEqual(['a', 'b']);
  });

  it('satisfies all of allOf, references included', () => {
    const schema = {
      $defs: { named: { type: 'object', properties: { name: { enum: ['x'] } }, required: ['name'] } },
      allOf: [{ $ref: '#/$defs/named' }, { properties: { size: { const: 4 } }, required: ['size'] }],
    };
    expect(jsonValueOf(schema, { low: 1, high: 2 })).toEqual({ name: 'x', size: 4 });
  });

  it('keeps numbers, strings and lists within their bounds', () => {
    const schema = {
      type: 'object',
      properties: {
        whole: { type: 'integer', minimum: -3, maximum: 3 },
        part: { type: 'number', minimum: 0.5, maximum: 9 },
        below: { type: 'integer', maximum: -7 },
        word: { type: 'string', minLength: 3, maxLength: 6 },
        list: { type: 'array', items: { enum: ['x', 'y'] }, minItems: 3 },
        fixed: { const: 5 },
      },
    };
    fc.assert(
      fc.property(anyKey, (key) => {
        const value = jsonValueOf(schema, key) as Record<string, number> & { word: string; list: string[] };
        expect([-3, -2, -1, 0, 1, 2, 3]).toContain(value.whole);
        expect(value.part).toBeGreaterThanOrEqual(0.5);
        expect(value.part).toBeLessThanOrEqual(9);
        expect(value.below).toBeLessThanOrEqual(-7);
        expect(value.word.length).toBeGreaterThanOrEqual(3);
        expect([...value.word].length).toBeLessThanOrEqual(6);
        expect(value.list).toHaveLength(3);
        expect(['x', 'y']).toEqual(expect.arrayContaining(value.list));
        expect(value.fixed).toBe(5);
      }),
    );
  });

  it('follows references, and ends where a schema contains itself many times', () => {
    const node = { $ref: '#/$defs/node' };
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const properties = Object.fromEntries(names.map((name) => [name, node]));
    const value = jsonValueOf({ $defs: { node: { type: 'object', properties } }, ...node }, { low: 1, high: 2 });
    expect(value).toMatchObject({ a: { a: {} }, h: { h: {} } });
    expect(JSON.stringify(value)).not.toContain('null');
  });

  it('is empty for a function without parameters', () => {
    expect(jsonValueOf({ type: 'object' }, { low: 1, high: 2 })).toEqual({});
  });
});
