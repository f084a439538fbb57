import { describe, expect, it } from '@jest/globals';
import { hashPrefix } from '../engines/promptPrefix.ts';
import { type Candidate, chooseEngine } from './chooseEngine.ts';

const anEngine = (number: number, fields: Partial<Candidate> = {}): Candidate => ({
  id: `engine-${number}`,
  weight: 1,
  loadTokens: 0,
  cachedTokens: 0,
  ...fields,
});
const someEngines = (count: number): Candidate[] => Array.from({ length: count }, (_, index) => anEngine(index + 1));
const aPrompt = (number: number, tokens = 400) => ({
  leadingHash: hashPrefix('scope', Buffer.from(`prompt ${number} `.repeat(100)))[0],
  tokens,
});
const half = (): number => 0.5;
const choose = (engines: Candidate[], prompt = aPrompt(1)) => chooseEngine(engines, prompt, half)?.chosen.id;

/** How many of many random prefixes each engine gets. */
function countPlaced(engines: Candidate[], total = 4_000): Map<string, number> {
  const placed = new Map<string, number>();
  for (let number = 0; number < total; number += 1) {
    const id = choose(engines, aPrompt(number)) ?? '';
    placed.set(id, (placed.get(id) ?? 0) + 1);
  }
  return placed;
}

it('places nothing where no engine is left, and everything where there is one', () => {
  expect(choose([])).toBeUndefined();
  expect(choose([anEngine(1, { loadTokens: 1e9 })])).toBe('engine-1');
});

describe('a prefix nobody has seen', () => {
  it('goes to the same engine from every router, whatever order it lists them in', () => {
    for (let number = 0; number < 50; number += 1)
      expect(choose(someEngines(4), aPrompt(number))).toBe(choose(someEngines(4).reverse(), aPrompt(number)));
  });

  it.each([2, 3, 5, 8])('is spread evenly over %i engines: none gets 1.3 times the mean', (count) => {
    const placed = countPlaced(someEngines(count));
    expect(placed.size).toBe(count);
    expect(Math.max(...placed.values())).toBeLessThan((1.3 * 4_000) / count);
  });

  it('goes to engines in proportion to their weights', () => {
    const placed = countPlaced([anEngine(1), anEngine(2, { weight: 3 })]);
    expect((placed.get('engine-2') ?? 0) / 4_000).toBeCloseTo(0.75, 1);
  });

  it('stays where it is when another engine leaves', () => {
    for (let number = 0; number < 50; number += 1) {
      const home = choose(someEngines(4), aPrompt(number));
      if (home !== 'engine-4') expect(choose(someEngines(3), aPrompt(number))).toBe(home);
    }
  });

  it('goes to the idlest when its home is much busier', () => {
    const home = choose(someEngines(3));
    const busy = (loadTokens: number) =>
      someEngines(3).map((engine) => (engine.id === home ? { ...engine, loadTokens } : engine));
    expect(choose(busy(8_192))).toBe(home);
    expect(choose(busy(8_194))).not.toBe(home);
  });
});

describe('a prefix that was seen', () => {
  it('goes back to the engine that has it', () => {
    const engines = [anEngine(1), anEngine(2), anEngine(3, { cachedTokens: 300 })];
    expect(choose(engines)).toBe('engine-3');
  });

  it('goes elsewhere once the work there outweighs computing it anew', () => {
    const engines = (loadTokens: number) => [anEngine(1, { cachedTokens: 300, loadTokens }), anEngine(2)];
    expect(choose(engines(290))).toBe('engine-1');
    expect(choose(engines(310))).toBe('engine-2');
  });
});

describe('the reason it gives', () => {
  const reasonOf = (engines: Candidate[], prompt = aPrompt(1)) => chooseEngine(engines, prompt, half)?.reason;
  const home = choose(someEngines(2));
  const withBusyHome = someEngines(2).map((engine) => (engine.id === home ? { ...engine, loadTokens: 9_000 } : engine));
  const matched = [anEngine(1, { cachedTokens: 90_000, loadTokens: 17_000 }), anEngine(2)];

  it.each([
    ['only', 'is the only one', someEngines(1), aPrompt(1)],
    ['rendezvous', 'is named by the hash of a new prefix', someEngines(2), aPrompt(1)],
    ['spill', 'stands in for a busy home', withBusyHome, aPrompt(1)],
    ['match', 'has the prefix, however busy, as long as that is quicker', matched, aPrompt(1, 100_000)],
    [
      'least_load',
      'computes the prefix sooner than another is free',
      [anEngine(1, { cachedTokens: 300, loadTokens: 310 }), anEngine(2)],
      aPrompt(1),
    ],
    ['least_load', 'gets a prompt too short to have a prefix', someEngines(2), { leadingHash: undefined, tokens: 5 }],
  ])('is %s where the engine %s', (reason, _why, engines, prompt) => {
    expect(reasonOf(engines, prompt)).toBe(reason);
  });
});

it('tells equals apart at random, or every router would send its short calls to the same engine', () => {
  const random = seededRandom();
  const prompt = { leadingHash: undefined, tokens: 5 };
  const placed = Array.from({ length: 200 }, () => chooseEngine(someEngines(3), prompt, random)?.chosen.id);
  expect(new Set(placed).size).toBe(3);
});

/** The same numbers from 0 to 1 every time. */
function seededRandom(): () => number {
  let state = 1;
  return () => {
    state = Math.imul(state, 48_271) >>> 0;
    return state / 0x1_0000_0000;
  };
}
