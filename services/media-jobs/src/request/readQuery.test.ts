import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { checkContentVariant, preferredWaitMs, readContentIndex, readListQuery, readRepeat } from './readQuery.ts';

describe('how long a client would wait', () => {
  it.each<[string | undefined, number | undefined]>([
    ['wait=5', 5_000],
    ['respond-async, wait=10', 10_000],
    ['Wait = "7"; x=y', 7_000],
    ['wait=0', 0],
    ['wait=31', 30_000],
    ['wait=999999', 30_000],
    [undefined, undefined],
    ['respond-async', undefined],
    ['await=5', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait', undefined],
  ])('%j is %s ms', (prefer, waitMs) => {
    expect(preferredWaitMs({ headers: { ...(prefer !== undefined && { prefer }) } })).toBe(waitMs);
  });
});

it.each<[string | undefined, number]>([
  ['1', 1],
  ['2', 2],
  ['0', 0],
  ['-1', 0],
  ['x', 0],
  [undefined, 0],
])('a call with the retry count %j is repeat %i', (count, repeat) => {
  expect(readRepeat({ headers: { ...(count !== undefined && { 'x-stainless-retry-count': count }) } })).toBe(repeat);
});

/** Returns the parsed query, or the wrong field. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof ApiError) return (error.fault as { message?: string }).message;
    throw error;
  }
}

it.each<[object, unknown]>([
  [{}, { limit: 20, order: 'desc' }],
  [
    { after: 'video_1', limit: '100', order: 'asc' },
    { after: 'video_1', limit: 100, order: 'asc' },
  ],
  [{ trace: 'x' }, { limit: 20, order: 'desc' }],
  [{ limit: '0' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: '101' }, 'limit must be a whole number from 1 to 100'],
  [{ limit: 'all' }, 'limit must be a whole number from 1 to 100'],
  [{ order: 'up' }, 'order must be asc or desc'],
  [{ after: ['a', 'b'] }, 'after must be given once'],
  [{ limit: ['1', '2'] }, 'limit must be given once'],
  [{ after: 'video_\0' }, 'after must be the id of a video'],
])('the list %j is %j', (query, outcome) => {
  expect(outcomeOf(() => readListQuery(query))).toEqual(outcome);
});

it.each<[object, unknown]>([
  [{}, 0],
  [{ index: '9' }, 9],
  [{ index: '10' }, 'index must be a whole number from 0 to 9'],
  [{ index: '-1' }, 'index must be a whole number from 0 to 9'],
])('the image %j is %j', (query, outcome) => {
  expect(outcomeOf(() => readContentIndex(query))).toBe(outcome);
});

it('knows no variant of a clip but the clip', () => {
  expect(outcomeOf(() => checkContentVariant({ variant: 'video' }))).toBeUndefined();
  expect(outcomeOf(() => checkContentVariant({}))).toBeUndefined();
  expect(outcomeOf(() => checkContentVariant({ variant: 'thumbnail' }))).toBe(
    'variant must be video or absent: no thumbnail or spritesheet is made',
  );
});
