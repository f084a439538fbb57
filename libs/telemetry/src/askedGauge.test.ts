import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createAskedGauge } from './askedGauge.ts';
import { startTelemetry } from './startTelemetry.ts';

it.each([
  ['fails', () => Promise.reject(new Error('no database'))],
  ['does not come', () => new Promise<number>(() => {})],
])('says that it does not know, rather than the last value, when the answer %s', async (_case, ask) => {
  const log = createLogger({ service: 'test', level: 'silent' });
  const telemetry = startTelemetry({
    service: 'test',
    region: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log,
  });
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
