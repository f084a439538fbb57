import { expect, it } from '@jest/globals';
import { formatSummary } from './formatSummary.ts';

it('counts what held in each section and names what did not', () => {
  const outcomes = [
    { id: 'stream.events', holds: true },
    { id: 'request.model.id', holds: true },
    { id: 'request.n.one', holds: false },
  ];

  expect(formatSummary(outcomes).split('\n')).toEqual([
    'Rows of the API contract',
    '  ✗ Chat requests                1 of    2 held',
    '  ✓ Streams                      1 of    1 held',
    '  ✗ In all                       2 of    3 held',
    '    ✗ request.n.one',
  ]);
});
