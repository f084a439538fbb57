import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { FaultLog } from './faultLog.ts';

/** A log of faults on a clock of its own, and its lines. */
function aFaultLog() {
  const clock = { ms: 0 };
  const lines: { level: string; leftOut?: unknown }[] = [];
  const log = createLogger({ service: 'test', level: 'silent' });
  for (const level of ['info', 'error'] as const)
    log[level] = ((facts: object) => lines.push({ level, ...facts })) as (typeof log)['info'];
  const faults = new FaultLog(() => clock.ms);
  const write = (error: unknown) => faults.write(log, error, { route: 'POST /', status: 503 });
  return { clock, lines, write };
}

it.each([
  ['a refusal by a bound of the key', new ApiError({ kind: 'key_bound_reached' }), 'info'],
  ['another refusal', new ApiError({ kind: 'admission_unavailable' }), 'error'],
  ['what nobody foresaw', new Error('unforeseen'), 'error'],
])('logs %s at the level that it deserves', (_case, error, level) => {
  const { lines, write } = aFaultLog();
  write(error);
  expect(lines).toMatchObject([{ level }]);
});

it('logs five lines of a fault in a second, and how many it left out in the next line', () => {
  const { clock, lines, write } = aFaultLog();
  for (let call = 0; call < 1_000; call += 1) write(new ApiError({ kind: 'key_bound_reached' }));
  write(new ApiError({ kind: 'jobs_unavailable' }));
  clock.ms = 1_000;
  write(new ApiError({ kind: 'key_bound_reached' }));
  write(new ApiError({ kind: 'key_bound_reached' }));
  expect(lines.map(({ leftOut }) => leftOut)).toEqual([...Array(6).fill(undefined), 995, undefined]);
});

it('logs each error that nobody foresaw', () => {
  const { lines, write } = aFaultLog();
  for (let call = 0; call < 20; call += 1) write(new Error('unforeseen'));
  expect(lines).toHaveLength(20);
});
