import { expect, it } from '@jest/globals';
import { parseAsScanned } from './readBody.ts';

const TEXT = '{"model":"a","\\u0001b":1}';
const SCANNED = { memberCount: 2, refuseRepeatedKey: () => undefined };
const RIGHT = { model: 'a', '\u0001b': 1 };

/** A parser that gives these values one after the other. */
function aParserThatGives(...values: unknown[]) {
  const texts: string[] = [];
  const parse = (text: string): unknown => {
    texts.push(text);
    return values.shift();
  };
  return { parse, texts };
}

it('parses once where the parser finds the keys that stand in the text', () => {
  const { parse, texts } = aParserThatGives(RIGHT);
  expect(parseAsScanned(TEXT, SCANNED, parse)).toEqual({ value: RIGHT });
  expect(texts).toEqual([TEXT]);
});

it('parses again where the parser has lost a key', () => {
  const { parse, texts } = aParserThatGives({ model: 'a' }, RIGHT);
  expect(parseAsScanned(TEXT, SCANNED, parse)).toEqual({ value: RIGHT });
  expect(texts).toEqual([TEXT, TEXT]);
});

it('gives nothing where the parser loses the key every time', () => {
  const { parse } = aParserThatGives({ model: 'a' }, { model: 'a' }, RIGHT);
  expect(parseAsScanned(TEXT, SCANNED, parse)).toBeUndefined();
});

it.each<[string, number]>([
  ['{"a":1,"a":2}', 2],
  ['{"a":[{"b":{"c":1,"\\u0063":2}}]}', 4],
  ['[[{"a":1,"a":1}]]', 2],
])('has %s refused, where a key stands twice in one object', (text, memberCount) => {
  const refuseRepeatedKey = () => {
    throw new Error('twice');
  };
  expect(() => parseAsScanned(text, { memberCount, refuseRepeatedKey })).toThrow('twice');
});

it('counts members, and not what stands in lists', () => {
  const text = '{"a":[1,[2],{"b":null,"__proto__":{}}],"constructor":{"a":1}}';
  expect(parseAsScanned(text, { ...SCANNED, memberCount: 5 })).toEqual({ value: JSON.parse(text) });
});

it.each(['[1]', 'null', '"text"', '7'])('gives %s as it is: there are no keys in it to lose', (text) => {
  expect(parseAsScanned(text, { ...SCANNED, memberCount: 0 })).toEqual({ value: JSON.parse(text) });
});

it('lets through what the parser throws', () => {
  expect(() => parseAsScanned('{', SCANNED)).toThrow(SyntaxError);
});
