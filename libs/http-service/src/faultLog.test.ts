import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { FaultLog } from './faultLog.ts';

let lines: { level: string; message: string }[];
let write: (error: unknown) => void;
beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  const log = createLogger({ service: 'test', level: 'silent' });
  for (const level of ['info', 'error'] as const)
    log[level] = ((facts: object, message: string) =>
      lines.push({ ...facts, level, message })) as unknown as (typeof log)['info'];
  const faults = new FaultLog(log);
  write = (error) => faults.write(log, error, { route: 'POST /', status: 503 });
});
afterEach(() => {
  jest.useRealTimers();
});

it.each([
  ['a refusal by a bound of the key', new ApiError({ kind: 'key_bound_reached' }), 'info'],
  ['a refusal of a model that an operator switched off', new ApiError({ kind: 'model_disabled' }), 'info'],
  ['another refusal', new ApiError({ kind: 'admission_unavailable' }), 'error'],
  ['what nobody foresaw', new Error('unforeseen'), 'error'],
])('logs %s at the level that it deserves', (_case, error, level) => {
  write(error);
  expect(lines).toMatchObject([{ level }]);
});

it('logs five requests of an outage, how many more there are, and its end', () => {
  for (let call = 0; call < 1_000; call += 1) write(new ApiError({ kind: 'auth_unavailable' }));
  write(new ApiError({ kind: 'jobs_unavailable' }));
  jest.advanceTimersByTime(30_000);
  expect(lines.map(({ message }) => message)).toEqual([
    ...Array(6).fill('request failed'),
    'requests are still refused',
    'requests are refused no more',
  ]);
  expect(lines[6]).toMatchObject({ fault: 'auth_unavailable', failures: 1_000 });
});

it('logs each error that nobody foresaw', () => {
  for (let call = 0; call < 20; call += 1) write(new Error('unforeseen'));
  expect(lines).toHaveLength(20);
});
