import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aSilentLogger } from './createLogger.ts';
import { EpisodeLog } from './episodeLog.ts';

let lines: [level: string, message: string, facts: object][];
let episodes: EpisodeLog;
beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  const log = aSilentLogger();
  for (const level of ['info', 'warn', 'error'] as const)
    log[level] = ((facts: object, message: string) =>
      lines.push([level, message, facts])) as unknown as (typeof log)['info'];
  episodes = new EpisodeLog(log, { goesOn: 'still refused', isOver: 'refused no more' });
});
afterEach(() => {
  jest.useRealTimers();
});

const fail = (count: number, about = 'auth'): void => {
  for (let nth = 0; nth < count; nth += 1)
    episodes.note(about, { facts: { about }, level: 'error', write: () => lines.push(['error', 'one', { about }]) });
};
const wait = (seconds: number): void => {
  jest.advanceTimersByTime(seconds * 1_000);
};

it('writes five lines of an outage, then a count every 10 s, then that it is over', () => {
  for (let second = 0; second < 25; second += 1) {
    fail(40);
    wait(1);
  }
  wait(20);
  expect(lines).toEqual([
    ...Array(5).fill(['error', 'one', { about: 'auth' }]),
    ['error', 'still refused', { about: 'auth', failures: 400, inAll: 400, seconds: 10 }],
    ['error', 'still refused', { about: 'auth', failures: 400, inAll: 800, seconds: 20 }],
    ['error', 'still refused', { about: 'auth', failures: 200, inAll: 1_000, seconds: 30 }],
    ['info', 'refused no more', { about: 'auth', failures: 1_000, seconds: 40 }],
  ]);
});

it('adds nothing to a few failures, and begins anew after they are over', () => {
  fail(3);
  wait(30);
  fail(5);
  wait(30);
  expect(lines.map(([, message]) => message)).toEqual(Array(8).fill('one'));
});

it('keeps failures of different kinds apart', () => {
  fail(6);
  fail(2, 'redis');
  wait(10);
  expect(lines.map(([, message]) => message)).toEqual([...Array(7).fill('one'), 'still refused']);
});
