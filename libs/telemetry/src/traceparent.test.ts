import { expect, it } from '@jest/globals';
import { fromTraceparent, toTraceparent } from './traceparent.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

it('names a sampled span and reads the name back', () => {
  const header = `00-${traceId}-${spanId}-01`;
  expect(toTraceparent({ traceId, spanId, traceFlags: 1 })).toBe(header);
  expect(fromTraceparent(header)).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
});

it.each([
  ['nothing', undefined],
  ['several headers', [`00-${traceId}-${spanId}-01`]],
  ['a span that is not sampled', `00-${traceId}-${spanId}-00`],
  ['another version', `01-${traceId}-${spanId}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['something after it', `00-${traceId}-${spanId}-01-x`],
  ['a line after it', `00-${traceId}-${spanId}-01\n`],
])('reads no span from %s', (_case, value) => {
  expect(fromTraceparent(value)).toBeUndefined();
});
