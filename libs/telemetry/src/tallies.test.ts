import { expect, it } from '@jest/globals';
import { createNoopMeter } from '@opentelemetry/api';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import { createTallies, type Tallies } from './tallies.ts';

const someTallies = (maxLabelSets = 1_000): Tallies => createTallies(createNoopMeter(), { maxLabelSets });

/** Returns the counts of the only instrument. */
const pointsOf = ([metric]: MetricData[]) => metric?.dataPoints.map(({ attributes, value }) => [attributes, value]);

it('sums what is counted under the same labels, in whatever order they are named', () => {
  const { meter, collect } = someTallies();
  const calls = meter.createCounter('calls');
  calls.add(1, { model: 'a', status: 'success' });
  calls.add(2, { status: 'success', model: 'a' });
  calls.add(4, { model: 'success', status: 'a' });
  calls.add(8, { model: 'a' });
  calls.add(16);
  expect(pointsOf(collect())).toEqual([
    [{ model: 'a', status: 'success' }, 3],
    [{ model: 'success', status: 'a' }, 4],
    [{ model: 'a' }, 8],
    [{}, 16],
  ]);
});

it('counts a value in the first bucket whose bound is not below it, and one above all bounds in the last', () => {
  const { meter, collect } = someTallies();
  const waits = meter.createHistogram('waits', { advice: { explicitBucketBoundaries: [1, 5] } });
  for (const value of [0, 1, 1.5, 5, 6]) waits.record(value);
  expect(pointsOf(collect())).toEqual([
    [{}, { sum: 13.5, count: 5, buckets: { boundaries: [1, 5], counts: [2, 2, 1] } }],
  ]);
});

it('takes nothing below 0, and nothing that is no number', () => {
  const { meter, collect } = someTallies();
  meter.createCounter('calls').add(-1);
  meter.createHistogram('waits', { advice: { explicitBucketBoundaries: [1] } }).record(Number.NaN);
  expect(collect()).toEqual([]);
});

it('sums as one what has more labels than an instrument may have', () => {
  const { meter, collect } = someTallies(3);
  const calls = meter.createCounter('calls');
  for (const model of ['a', 'b', 'c', 'd', 'a']) calls.add(1, { model });
  expect(pointsOf(collect())).toEqual([
    [{ model: 'a' }, 2],
    [{ model: 'b' }, 1],
    [{ 'otel.metric.overflow': true }, 2],
  ]);
});
