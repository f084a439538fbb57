import { describe, expect, it } from '@jest/globals';
import { anEngine } from '../../test/anEngine.ts';
import type { Engine } from './engineRegistry.ts';
import { placeCall } from './placeCall.ts';
import { hashPrefix } from './prefixIndex.ts';

const someEngines = (count: number): Engine[] =>
  Array.from({ length: count }, (_, index) => anEngine(`engine-${index + 1}`));
const aPrompt = (number: number): number[] => hashPrefix('scope', Buffer.from(`prompt ${number} `.repeat(100)));
const placementOf = (number: number) => ({ prefixHashes: aPrompt(number), promptTokens: 400 });

it('places nothing where no engine is left, and everything where there is one', () => {
  const [only] = someEngines(1);
  expect(placeCall([], placementOf(1))).toBeUndefined();
  expect(placeCall(only ? [only] : [], placementOf(1))).toBe(only);
});

describe('a prefix nobody has seen', () => {
  it('goes to the same engine from every router, whatever order it lists them in', () => {
    for (let number = 0; number < 50; number += 1) {
      const here = placeCall(someEngines(4), placementOf(number));
      const there = placeCall(someEngines(4).reverse(), placementOf(number));
      expect(there?.id).toBe(here?.id);
    }
  });

  it.each([2, 3, 5, 8])('is spread evenly over %i engines', (count) => {
    const engines = someEngines(count);
    const placed = new Map<string, number>();
    const total = 4_000;
    for (let number = 0; number < total; number += 1) {
      const id = placeCall(engines, placementOf(number))?.id ?? '';
      placed.set(id, (placed.get(id) ?? 0) + 1);
    }
    for (const { id } of engines) {
      const share = (placed.get(id) ?? 0) / (total / count);
      expect(share).toBeGreaterThan(0.85);
      expect(share).toBeLessThan(1.15);
    }
  });

  it('stays where it was for those whose engine did not leave', () => {
    const engines = someEngines(4);
    for (let number = 0; number < 200; number += 1) {
      const home = placeCall(engines, placementOf(number));
      const rest = engines.filter((engine) => engine.id === home?.id || engine.id !== 'engine-4');
      if (home?.id !== 'engine-4') expect(placeCall(rest, placementOf(number))).toBe(home);
    }
  });

  it('goes elsewhere when its home is much busier than the idlest', () => {
    const engines = someEngines(3);
    const home = placeCall(engines, placementOf(1));
    if (!home) throw new Error('not placed');
    home.tokensInFlight = 8_192;
    expect(placeCall(engines, placementOf(1))).toBe(home);
    home.tokensInFlight = 8_193;
    expect(placeCall(engines, placementOf(1))).not.toBe(home);
  });
});

describe('a prefix that was seen', () => {
  it('goes back to the engine that has it', () => {
    const engines = someEngines(4);
    engines[2]?.prefixes.add(aPrompt(1));
    for (let time = 0; time < 20; time += 1) expect(placeCall(engines, placementOf(1))).toBe(engines[2]);
  });

  it('goes elsewhere once the work waiting there outweighs reading it anew', () => {
    const engines = someEngines(2);
    const [warm, cold] = engines;
    if (!warm || !cold) throw new Error('no engines');
    warm.prefixes.add(aPrompt(1));
    warm.tokensInFlight = 390;
    expect(placeCall(engines, placementOf(1))).toBe(warm);
    warm.tokensInFlight = 410;
    expect(placeCall(engines, placementOf(1))).toBe(cold);
  });
});

it('spreads prompts too short to have a block over idle engines', () => {
  const engines = someEngines(3);
  const placed = Array.from({ length: 200 }, () => placeCall(engines, { prefixHashes: [], promptTokens: 5 })?.id);
  expect(new Set(placed).size).toBe(3);
});
