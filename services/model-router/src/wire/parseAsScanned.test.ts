import { expect, it } from '@jest/globals';
import { parseAsScanned } from './parseAsScanned.ts';

const TEXT = '{"model":"a","\\u0001b":1}';
const KEYS = ['model', '\u0001b'];
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
  expect(parseAsScanned(TEXT, KEYS, parse)).toEqual({ value: RIGHT });
  expect(texts).toEqual([TEXT]);
});

it('parses again where the parser has lost a key', () => {
  const { parse, texts } = aParserThatGives({ model: 'a' }, RIGHT);
  expect(parseAsScanned(TEXT, KEYS, parse)).toEqual({ value: RIGHT });
  expect(texts).toEqual([TEXT, TEXT]);
});

it('gives nothing where the parser loses the key every time', () => {
  const { parse } = aParserThatGives({ model: 'a' }, { model: 'a' }, RIGHT);
  expect(parseAsScanned(TEXT, KEYS, parse)).toBeUndefined();
});

it.each(['[1]', 'null', '"text"', '7'])('gives %s as it is: there are no keys in it to lose', (text) => {
  expect(parseAsScanned(text, [])).toEqual({ value: JSON.parse(text) });
});

it('lets through what the parser throws', () => {
  expect(() => parseAsScanned('{', [])).toThrow(SyntaxError);
});
