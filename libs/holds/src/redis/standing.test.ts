import { afterEach, expect, it, jest } from '@jest/globals';
import { Standing } from './standing.ts';

const session = { mark: 'mark', token: 'token' };

afterEach(() => void jest.restoreAllMocks());

it('has a session until its lease ends by this process’ clock, though nobody has said so', () => {
  const standing = new Standing();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
  standing.begin(session, 2_000);
  standing.open();
  expect([standing.session, standing.isOpen]).toEqual([session, true]);
  clock.mockReturnValue(2_000);
  expect([standing.session, standing.isOpen]).toEqual([undefined, false]);
});

it('is not open without a session, nor in the next one before that is said anew', () => {
  const standing = new Standing();
  standing.open();
  expect(standing.isOpen).toBe(false);
  standing.begin(session, Number.POSITIVE_INFINITY);
  standing.open();
  standing.end();
  standing.begin({ ...session, token: 'another' }, Number.POSITIVE_INFINITY);
  expect(standing.isOpen).toBe(false);
});

it('keeps its session on a suspicion, and none where a call is missing; both are looked at', () => {
  const standing = new Standing();
  let looks = 0;
  standing.watch(() => {
    looks += 1;
  });
  standing.begin(session, Number.POSITIVE_INFINITY);
  standing.open();
  standing.suspect();
  expect([standing.session, standing.isOpen, looks]).toEqual([session, false, 1]);
  standing.reportMissingCall();
  expect([standing.session, standing.isOpen, looks]).toEqual([undefined, false, 2]);
});
