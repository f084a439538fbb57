import { expect, it } from '@jest/globals';
import { readObservation } from './toPartEnvironment.ts';

it('passes on the variables that say how to watch the services, and no other', () => {
  const observation = { LOG_LEVEL: 'debug', TRACE_SAMPLE_RATIO: '1' };
  const env = { ...observation, OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_SERVICE_NAME: 'mine', PORT: '1', PATH: '/bin' };
  expect(readObservation(env)).toEqual(observation);
});
