import { beforeEach, expect, it } from '@jest/globals';
import { KeyLoad } from './engineLoad.ts';

let nowMs: number;
let load: KeyLoad;
beforeEach(() => {
  nowMs = 0;
  load = new KeyLoad();
});

/** Counts a call; what is returned ends it. */
function take(tokens: number): (nowMs: number) => void {
  const from = load;
  const generation = from.take(tokens, tokens);
  return (atMs) => from.giveBack({ tokens, maxTokens: tokens, generation }, atMs);
}

/** Keeps so many calls under way for so long, each of which takes `callMs`. */
function keep(calls: number, { callMs, forMs }: { callMs: number; forMs: number }): void {
  const open: { endsMs: number; end: (nowMs: number) => void }[] = [];
  for (const untilMs = nowMs + forMs; nowMs < untilMs; nowMs += 100) {
    while (open[0] && open[0].endsMs <= nowMs) open.shift()?.end(nowMs);
    // They begin one by one, so that they end so.
    if (open.length < calls) open.push({ endsMs: nowMs + callMs, end: take(10) });
  }
}

it('counts what is under way', () => {
  const end = take(30);
  take(12);
  expect([load.calls, load.tokens]).toEqual([2, 42]);
  end(nowMs);
  expect([load.calls, load.tokens]).toEqual([1, 12]);
});

it('comes back soon where half of the calls end in 20 s, again and again', () => {
  keep(50, { callMs: 5_000, forMs: 60_000 });
  expect(load.comesBackSoon(nowMs)).toBe(true);
});

it('does not where they take minutes, and no longer where they begin to', () => {
  keep(50, { callMs: 5_000, forMs: 60_000 });
  for (let count = 0; count < 40; count += 1) load.take(10, 10);
  expect(load.comesBackSoon(nowMs)).toBe(true);
  nowMs += 20_100;
  expect(load.comesBackSoon(nowMs)).toBe(false);
});

it('says nothing good of a burst, whatever a few calls did before it', () => {
  for (let count = 0; count < 50; count += 1) load.take(10, 10);
  expect(load.comesBackSoon(nowMs)).toBe(false);
  load = new KeyLoad();
  keep(5, { callMs: 1_000, forMs: 60_000 });
  expect(load.comesBackSoon(nowMs)).toBe(true);
  for (let count = 0; count < 50; count += 1) load.take(10, 10);
  expect(load.comesBackSoon(nowMs)).toBe(false);
});
