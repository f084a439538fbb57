import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CircuitBreaker } from './circuitBreaker.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** A breaker on a clock of its own, whose waits are exactly as long as they say. */
function aBreaker(random = 0.5) {
  const clock = { ms: 0 };
  return { clock, breaker: new CircuitBreaker({ nowMs: () => clock.ms, random: () => random }) };
}

it('trusts nothing before its first trial, which is due at once', () => {
  const { breaker } = aBreaker();
  expect([breaker.state, breaker.isDue]).toEqual(['open', true]);
  expect(breaker.beginTrial()).toBe(true);
  breaker.endTrial(true);
  expect(breaker.state).toBe('closed');
});

it('allows one trial at a time', () => {
  const { breaker } = aBreaker();
  expect([breaker.beginTrial(), breaker.beginTrial()]).toEqual([true, false]);
  expect(breaker.state).toBe('half_open');
});

it('waits 1 s, then twice as long each time, and 60 s at most', () => {
  const { clock, breaker } = aBreaker();
  const waits = Array.from({ length: 8 }, () => {
    breaker.beginTrial();
    breaker.endTrial(false);
    const openedAtMs = clock.ms;
    while (!breaker.isDue) clock.ms += 100;
    return (clock.ms - openedAtMs) / 1_000;
  });
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

it('begins with 1 s again after an engine was in for a minute, and not before', () => {
  const { clock, breaker } = aBreaker();
  const openAfter = (inMs: number): number => {
    while (!breaker.beginTrial()) clock.ms += 100;
    breaker.endTrial(true);
    clock.ms += inMs;
    breaker.open();
    const openedAtMs = clock.ms;
    while (!breaker.isDue) clock.ms += 100;
    return clock.ms - openedAtMs;
  };
  expect([openAfter(0), openAfter(59_900), openAfter(60_000), openAfter(0)]).toEqual([1_000, 2_000, 1_000, 2_000]);
});

it('waits no longer each time for an engine that goes away and comes back', () => {
  const { clock, breaker } = aBreaker();
  for (let time = 0; time < 10; time += 1) {
    expect(breaker.beginTrial()).toBe(true);
    breaker.endTrial(true);
    breaker.open({ isAway: true });
    clock.ms += 1_000;
  }
});

it('forgets a trial that news overtook', () => {
  const { breaker } = aBreaker();
  breaker.beginTrial();
  breaker.open();
  breaker.endTrial(true);
  expect(breaker.state).toBe('open');
});

it('whatever happens, never closes but by a passed trial, and never has more than one trial in 0.8 s', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
    fc.record({ kind: fc.constantFrom('open', 'begin', 'pass', 'fail') }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.double({ min: 0, max: 1, noNaN: true }), (steps, random) => {
      const { clock, breaker } = aBreaker(random);
      let openedAtMs = Number.NEGATIVE_INFINITY;
      for (const each of steps) {
        const before = breaker.state;
        if (each.kind === 'wait') clock.ms += 'ms' in each ? each.ms : 0;
        if (each.kind === 'open') breaker.open();
        if (each.kind === 'begin' && breaker.beginTrial()) expect(clock.ms - openedAtMs).toBeGreaterThanOrEqual(800);
        if (each.kind === 'pass') breaker.endTrial(true);
        if (each.kind === 'fail') breaker.endTrial(false);
        if (breaker.state === 'closed' && before !== 'closed')
          expect([each.kind, before]).toEqual(['pass', 'half_open']);
        if (breaker.state === 'open' && before !== 'open') openedAtMs = clock.ms;
      }
    }),
  );
});
