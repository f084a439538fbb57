import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import { parseUsageQuery } from './usageQuery.ts';

const NOW = new Date('2026-12-31T23:59:59.999Z');

function faultOf(query: object): unknown {
  try {
    parseUsageQuery(query, NOW);
  } catch (error) {
    return error instanceof ApiError ? (error as ApiError<LedgerFault>).fault : error;
  }
  return undefined;
}

it('covers the current calendar month, ungrouped, when nothing is asked', () => {
  expect(parseUsageQuery({}, NOW)).toEqual({
    start: new Date('2026-12-01T00:00:00Z'),
    end: new Date('2027-01-01T00:00:00Z'),
    groupBy: [],
  });
});

it.each([
  ['a date, which begins at midnight UTC', '2026-02-28', '2026-02-28T00:00:00Z'],
  ['the 29th of a leap year’s February', '2028-02-29', '2028-02-29T00:00:00Z'],
  ['an instant', '2026-02-28T23:00:00Z', '2026-02-28T23:00:00Z'],
  ['an instant as the answers print it', '2026-02-28T23:00:00.000Z', '2026-02-28T23:00:00Z'],
  ['UTC as an offset of nothing', '2026-02-28T23:00:00+00:00', '2026-02-28T23:00:00Z'],
  ['lower-case letters', '2026-02-28t23:00:00z', '2026-02-28T23:00:00Z'],
])('takes %s', (_what, text, instant) => {
  const dayLater = new Date(Date.parse(instant) + 86_400_000).toISOString();
  expect(parseUsageQuery({ start: text, end: dayLater }, NOW).start).toEqual(new Date(instant));
});

it.each([
  '',
  'yesterday',
  '2026-2-1',
  '2026-02-30',
  '2026-13-01',
  '2026-02-28T24:00:00Z',
  '2026-02-28T23:00:00',
  '2026-02-28T23:00Z',
  '2026-02-28T23:30:00Z',
  '2026-02-28T23:00:01Z',
  '2026-02-28T23:00:00.001Z',
  '2026-02-28T23:00:00+01:00',
  '2026-02-28T23:00:00 00:00',
  ' 2026-02-28',
  '2026-02-28\n',
  '+002026-02-28',
  '0000-01-01',
  '1767225600',
])('refuses "%s", which is no date and no whole hour in UTC', (text) => {
  for (const param of ['start', 'end']) {
    expect(faultOf({ [param]: text })).toMatchObject({ kind: 'invalid_request', param });
  }
});

it('takes a leap year and a range of 366 days, and no more', () => {
  expect(faultOf({ start: '2028-01-01', end: '2029-01-01' })).toBeUndefined();
  expect(faultOf({ start: '2028-01-01', end: '2029-01-01T01:00:00Z' })).toMatchObject({ param: 'start' });
});

it.each([
  ['end', { start: '2026-05-02', end: '2026-05-02' }],
  ['end', { start: '2026-05-02', end: '2026-05-01T23:00:00Z' }],
  ['end', { end: '2026-12-01' }],
  ['start', { start: '2027-01-01' }],
])('refuses a range that ends before it has begun, naming %s', (param, query) => {
  expect(faultOf(query)).toMatchObject({ kind: 'invalid_request', param });
});

it.each([
  ['model', ['model']],
  ['hour,model', ['hour', 'model']],
  ['modality,day,hour,model', ['modality', 'day', 'hour', 'model']],
])('groups by "%s"', (text, groupBy) => {
  expect(parseUsageQuery({ group_by: text }, NOW).groupBy).toEqual(groupBy);
});

it.each(['', 'model,', 'Model', 'model,model', 'model, day', 'model;day', 'key', ['model', 'day']])(
  'refuses to group by "%s"',
  (text) => {
    expect(faultOf({ group_by: text })).toMatchObject({ kind: 'invalid_request', param: 'group_by' });
  },
);

it.each([
  ['start', { start: ['2026-05-02', '2026-05-02'] }],
  ['end', { end: [] }],
  ['limit', { limit: '10' }],
  ['start_date', { start: '2026-12-02', start_date: '2026-12-02' }],
  ['query', { [`sk-${'a'.repeat(40)}`]: '' }],
  ['query', { 'start[]': '2026-12-02' }],
])('refuses a repeated or unknown parameter, naming %s', (param, query) => {
  expect(faultOf(query)).toMatchObject({ kind: 'invalid_request', param });
});
