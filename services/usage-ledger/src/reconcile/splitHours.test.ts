import { expect, it } from '@jest/globals';
import { splitHours } from './splitHours.ts';

const at = (hour: number): Date => new Date(Date.UTC(2026, 10, 1, hour));

it.each<[string, [number, number][], [number, number][]]>([
  ['a range without calls whole', [], [[0, 24]]],
  [
    'a range of few calls whole',
    [
      [3, 10],
      [4, 20],
    ],
    [[0, 24]],
  ],
  [
    'where one more hour would be too much',
    [
      [3, 60],
      [4, 60],
      [5, 30],
    ],
    [
      [0, 4],
      [4, 24],
    ],
  ],
  [
    'an hour that is too much for itself',
    [
      [3, 10],
      [4, 500],
      [9, 10],
    ],
    [
      [0, 4],
      [4, 5],
      [5, 24],
    ],
  ],
  [
    'no empty part off the end',
    [
      [3, 10],
      [23, 500],
    ],
    [
      [0, 23],
      [23, 24],
    ],
  ],
])('splits %s, without gaps', (_what, sizes, parts) => {
  const hours = sizes.map(([hour, calls]) => ({ hour: at(hour), calls }));
  expect(splitHours({ since: at(0), until: at(24) }, hours, 100)).toEqual(
    parts.map(([since, until]) => ({ since: at(since), until: at(until) })),
  );
});

it('gives no part of a range that is over', () => {
  expect(splitHours({ since: at(5), until: at(5) }, [], 100)).toEqual([]);
});
