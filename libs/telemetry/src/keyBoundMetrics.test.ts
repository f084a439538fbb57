import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createKeyBoundMetrics } from './keyBoundMetrics.ts';
import { startTelemetry } from './startTelemetry.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const start = () =>
  startTelemetry({ service: 'model-router', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0, log });

it('names the key that ran into a bound', async () => {
  const telemetry = start();
  const bounds = createKeyBoundMetrics(telemetry.meter);
  bounds.keyBoundHit('look_ups', 'key_1');
  bounds.keyBoundHit('look_ups', 'key_1');
  bounds.keyBoundHit('body_memory', 'key_2');
  const samples = await readMetrics(telemetry);
  expect(samples.get('turnpike_key_bounds_total{bound="look_ups",key="key_1"}')).toBe(2);
  expect(samples.get('turnpike_key_bounds_total{bound="body_memory",key="key_2"}')).toBe(1);
});

it('names 500 of them at most, and counts the others together', async () => {
  const telemetry = start();
  const bounds = createKeyBoundMetrics(telemetry.meter);
  for (let index = 0; index < 700; index += 1) bounds.keyBoundHit('streams', `key_${index}`);
  bounds.keyBoundHit('streams', 'key_0');
  const samples = await readMetrics(telemetry);
  expect(samples.get('turnpike_key_bounds_total{bound="streams",key="key_0"}')).toBe(2);
  expect(samples.get('turnpike_key_bounds_total{bound="streams",key="other"}')).toBe(200);
});
