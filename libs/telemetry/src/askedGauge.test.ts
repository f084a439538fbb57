import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createAskedGauge } from './askedGauge.ts';
import { startTelemetry } from './startTelemetry.ts';

const start = () =>
  startTelemetry({
    service: 'test',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log: createLogger({ service: 'test', level: 'silent' }),
  });

it.each([
  ['fails', () => Promise.reject(new Error('no database'))],
  ['does not come', () => new Promise<number>(() => {})],
])('says that it does not know, rather than the last value, when the answer %s', async (_case, ask) => {
  const telemetry = start();
  let isAnswering = true;
  createAskedGauge(telemetry.meter, {
    name: 'turnpike_asked',
    description: 'Asked for.',
    ask: () => (isAnswering ? Promise.resolve(7) : ask()),
  });

  expect((await readMetrics(telemetry)).get('turnpike_asked')).toBe(7);
  isAnswering = false;
  const samples = await readMetrics(telemetry);
  expect(samples.get('turnpike_asked')).toBeNaN();
  expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0);
});

it('tells each of two who ask at the same time of every gauge', async () => {
  const telemetry = start();
  const { promise: asked, resolve: hear } = Promise.withResolvers<void>();
  const { promise: answer, resolve: tell } = Promise.withResolvers<number>();
  telemetry.meter.createObservableGauge('turnpike_known').addCallback((result) => result.observe(5));
  createAskedGauge(telemetry.meter, {
    name: 'turnpike_asked',
    description: 'Asked for.',
    ask: () => {
      hear();
      return answer;
    },
  });

  const first = readMetrics(telemetry);
  await asked;
  const second = readMetrics(telemetry);
  // The second is on its way by then.
  setTimeout(() => tell(7), 50);

  for (const samples of [await first, await second])
    expect([samples.get('turnpike_known'), samples.get('turnpike_asked')]).toEqual([5, 7]);
});
