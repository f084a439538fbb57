import { expect, it } from '@jest/globals';
import { parsePortBase } from './parseStartArguments.ts';

it.each([
  [undefined, 8080],
  ['', 8080],
  ['1024', 1024],
  ['65000', 65_000],
])('reads PORT_BASE=%s as %i', (text, port) => {
  expect(parsePortBase(text)).toBe(port);
});

it.each(['0', '80', '1023', '65001', '70000', '-8080', '8080.5', '8e3', ' 8080', 'http', '999999999999'])(
  'refuses PORT_BASE=%s in one line that says what it has to be',
  (text) => {
    expect(() => parsePortBase(text)).toThrow(
      /^PORT_BASE is ".*", but it has to be a whole number from 1024 to 65000.*$/,
    );
  },
);
