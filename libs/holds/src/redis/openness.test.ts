import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { aShard } from '../../test/aShard.ts';
import { createOpenness, type Openness } from './openness.ts';
import { SessionState } from './sessionState.ts';

let sessionStates: [SessionState, SessionState];
let openness: Openness;
let nowMs: number;
beforeEach(() => {
  nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  sessionStates = [new SessionState(), new SessionState()];
  openness = createOpenness({ all: sessionStates.map((sessionState) => aShard({} as Redis, sessionState)) });
});
afterEach(() => void jest.restoreAllMocks());

function open(sessionState: SessionState): void {
  sessionState.begin({ mark: 'mark', token: 'token' }, Number.POSITIVE_INFINITY);
  sessionState.open();
}

it('waits for all shards at the start, however late the first one opens', () => {
  nowMs += 60_000;
  expect(openness.isOpen()).toBe(false);
  open(sessionStates[0]);
  expect(openness.isOpen()).toBe(false);
  open(sessionStates[1]);
  expect(openness.isOpen()).toBe(true);
});

it('goes without a shard that does not open within 10 s of the first one', () => {
  open(sessionStates[0]);
  expect(openness.isOpen()).toBe(false);
  nowMs += 10_000;
  expect(openness.isOpen()).toBe(true);
});

it('is not closed by a shard that is lost later, but by the last', () => {
  for (const sessionState of sessionStates) open(sessionState);
  expect(openness.isOpen()).toBe(true);
  sessionStates[0].close();
  expect(openness.isOpen()).toBe(true);
  sessionStates[1].close();
  expect(openness.isOpen()).toBe(false);
});

it('says once what keeps calls out, however many shards lack it', () => {
  expect(createOpenness({ all: [] }).describeClosedReason()).toBe('no Redis has answered yet');
  for (const sessionState of sessionStates) sessionState.closedReason = 'no Redis answers as a primary';
  expect(openness.describeClosedReason()).toBe('no Redis answers as a primary');
  sessionStates[1].closedReason = 'its calls are not put back yet';
  expect(openness.describeClosedReason()).toBe('no Redis answers as a primary; its calls are not put back yet');
});
