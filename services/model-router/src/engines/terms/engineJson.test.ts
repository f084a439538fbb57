import { expect, it } from '@jest/globals';
import { findEngineMembers, MAX_ENGINE_JSON_DEPTH, parseEngineJson } from './engineJson.ts';

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const parse = (text: string): unknown => parseEngineJson(Buffer.from(text));

it.each([
  ['lists', lists],
  ['objects', objects],
])('parses %s of 64 levels, and none below them', (_kind, nested) => {
  const text = nested(MAX_ENGINE_JSON_DEPTH);
  expect(parse(text)).toEqual(JSON.parse(text));
  for (const depth of [65, 5_000, 4_000_000]) expect(parse(nested(depth))).toBeUndefined();
});

it('parses 100,000 values, and not more', () => {
  const empty = (count: number): string => `[${Array.from({ length: count }, () => '[]').join()}]`;
  expect(parse(empty(49_999))).toHaveLength(49_999);
  expect(parse(empty(1_000_000))).toBeUndefined();
});

it.each(['', 'no JSON', '{"a":', '[1,]'])('parses nothing of "%s"', (text) => {
  expect(parse(text)).toBeUndefined();
});

it('finds the outermost members of an object with any number of values, within 64 levels', () => {
  const tokens = `[${Array.from({ length: 300_000 }, (_none, at) => at).join()}]`;
  const members = findEngineMembers(Buffer.from(`{"count": 300000, "tokens":${tokens}}`));
  expect(members?.get('count')?.toString()).toBe(' 300000');
  expect(members?.get('tokens')?.toString()).toBe(tokens);
  for (const depth of [65, 4_000_000]) expect(findEngineMembers(Buffer.from(`{"a":${lists(depth)}}`))).toBeUndefined();
});
