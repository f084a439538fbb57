import { afterEach, expect, it, jest } from '@jest/globals';
import { SessionState } from './sessionState.ts';

const session = { mark: 'mark', token: 'token' };

afterEach(() => void jest.restoreAllMocks());

it('has a session until its lease ends by this process’ clock, though nobody has said so', () => {
  const sessionState = new SessionState();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
  sessionState.begin(session, 2_000);
  sessionState.open();
  expect([sessionState.session, sessionState.isOpen]).toEqual([session, true]);
  clock.mockReturnValue(2_000);
  expect([sessionState.session, sessionState.isOpen]).toEqual([undefined, false]);
});

it('is not open without a session, nor in the next one before that is said anew', () => {
  const sessionState = new SessionState();
  sessionState.open();
  expect(sessionState.isOpen).toBe(false);
  sessionState.begin(session, Number.POSITIVE_INFINITY);
  sessionState.open();
  sessionState.end();
  sessionState.begin({ ...session, token: 'another' }, Number.POSITIVE_INFINITY);
  expect(sessionState.isOpen).toBe(false);
});

it('keeps its session on a suspicion, and none where a call is missing; both are looked at', () => {
  const sessionState = new SessionState();
  let looks = 0;
  sessionState.watch(() => {
    looks += 1;
  });
  sessionState.begin(session, Number.POSITIVE_INFINITY);
  sessionState.open();
  sessionState.suspect();
  expect([sessionState.session, sessionState.isOpen, looks]).toEqual([session, false, 1]);
  sessionState.reportMissingCall();
  expect([sessionState.session, sessionState.isOpen, looks]).toEqual([undefined, false, 2]);
});
