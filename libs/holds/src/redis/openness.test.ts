import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { aShard } from '../../test/aShard.ts';
import { createOpenness, type Openness } from './openness.ts';
import { Standing } from './standing.ts';

let standings: [Standing, Standing];
let openness: Openness;
let nowMs: number;
beforeEach(() => {
  nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  standings = [new Standing(), new Standing()];
  openness = createOpenness({ all: standings.map((standing) => aShard({} as Redis, standing)) });
});
afterEach(() => void jest.restoreAllMocks());

function open(standing: Standing): void {
  standing.begin({ mark: 'mark', token: 'token' }, Number.POSITIVE_INFINITY);
  standing.open();
}

it('waits for all shards at the start, however late the first one opens', () => {
  nowMs += 60_000;
  expect(openness.isOpen()).toBe(false);
  open(standings[0]);
  expect(openness.isOpen()).toBe(false);
  open(standings[1]);
  expect(openness.isOpen()).toBe(true);
});

it('goes without a shard that does not open within 10 s of the first one', () => {
  open(standings[0]);
  expect(openness.isOpen()).toBe(false);
  nowMs += 10_000;
  expect(openness.isOpen()).toBe(true);
});

it('is not closed by a shard that is lost later, but by the last', () => {
  for (const standing of standings) open(standing);
  expect(openness.isOpen()).toBe(true);
  standings[0].close();
  expect(openness.isOpen()).toBe(true);
  standings[1].close();
  expect(openness.isOpen()).toBe(false);
});

it('says once what keeps calls out, however many shards lack it', () => {
  expect(createOpenness({ all: [] }).describeLack()).toBe('no Redis has answered yet');
  for (const standing of standings) standing.lack = 'no Redis answers as a primary';
  expect(openness.describeLack()).toBe('no Redis answers as a primary');
  standings[1].lack = 'its calls are not put back yet';
  expect(openness.describeLack()).toBe('no Redis answers as a primary; its calls are not put back yet');
});
