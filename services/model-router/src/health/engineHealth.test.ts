import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EngineHealth, type OutReason } from './engineHealth.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** The health of an engine on a clock of its own, whose pauses are exactly as long as they say. */
function anEngine(random = 0.5) {
  const clock = { ms: 0 };
  return { clock, health: new EngineHealth({ nowMs: () => clock.ms, random: () => random }) };
}
const begin = (health: EngineHealth): boolean => health.beginProbe({ isStalled: false });

/** One that is in. */
function aWellEngine() {
  const engine = anEngine();
  begin(engine.health);
  engine.health.endProbe('token');
  return engine;
}

it('trusts nothing before its first probe, which is due at once', () => {
  const { health } = anEngine();
  expect([health.breaker, health.isDue]).toEqual(['open', true]);
  expect(begin(health)).toBe(true);
  health.endProbe('token');
  expect(health.breaker).toBe('closed');
});

it('allows one probe of an engine that is out at a time', () => {
  const { health } = anEngine();
  expect([begin(health), begin(health)]).toEqual([true, false]);
  expect(health.breaker).toBe('half_open');
});

it('waits 1 s, then twice as long each time, and 60 s at most', () => {
  const { clock, health } = anEngine();
  const waits = Array.from({ length: 8 }, () => {
    begin(health);
    health.endProbe('failed');
    const openedAtMs = clock.ms;
    while (!health.isDue) clock.ms += 100;
    return (clock.ms - openedAtMs) / 1_000;
  });
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

it('begins with 1 s again after an engine was in for a minute, and not before', () => {
  const { clock, health } = anEngine();
  const openAfter = (inMs: number): number => {
    while (!begin(health)) clock.ms += 100;
    health.endProbe('token');
    clock.ms += inMs;
    health.leaveOut('no_token');
    const openedAtMs = clock.ms;
    while (!health.isDue) clock.ms += 100;
    return clock.ms - openedAtMs;
  };
  expect([openAfter(0), openAfter(59_900), openAfter(60_000), openAfter(0)]).toEqual([1_000, 2_000, 1_000, 2_000]);
});

it('waits no longer each time for an engine that goes away and comes back', () => {
  const { clock, health } = anEngine();
  for (let time = 0; time < 10; time += 1) {
    expect(begin(health)).toBe(true);
    health.endProbe('token');
    health.leaveOut('refused');
    clock.ms += 1_000;
  }
});

it('forgets a probe that news overtook', () => {
  const { health } = anEngine();
  begin(health);
  health.leaveOut('no_token');
  health.endProbe('token');
  expect(health.breaker).toBe('open');
});

it('whatever happens, never comes in but by a passed probe, and never has more than one in 0.8 s while it is out', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
    fc.record({ kind: fc.constantFrom('open', 'begin', 'pass', 'fail') }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.double({ min: 0, max: 1, noNaN: true }), (steps, random) => {
      const { clock, health } = anEngine(random);
      let openedAtMs = Number.NEGATIVE_INFINITY;
      for (const each of steps) {
        const before = health.breaker;
        if (each.kind === 'wait') clock.ms += 'ms' in each ? each.ms : 0;
        if (each.kind === 'open') health.leaveOut('no_token');
        if (each.kind === 'begin' && begin(health)) expect(clock.ms - openedAtMs).toBeGreaterThanOrEqual(800);
        if (each.kind === 'pass') health.endProbe('token');
        if (each.kind === 'fail') health.endProbe('failed');
        if (health.breaker === 'closed' && before !== 'closed')
          expect([each.kind, before]).toEqual(['pass', 'half_open']);
        if (health.breaker === 'open' && before !== 'open') openedAtMs = clock.ms;
      }
    }),
  );
});

const yes = () => true;
const no = () => false;

it('is doubted after a failed call, and gets no more after three until it has produced a token', () => {
  const { health } = aWellEngine();
  const taken = [1, 2, 3].map(() => {
    health.failed('ws_1', yes);
    return health.takesCalls;
  });
  expect([taken, health.state]).toEqual([[true, true, false], 'doubted']);
  expect(begin(health)).toBe(true);
  health.endProbe('token');
  expect([health.state, health.takesCalls]).toEqual(['in', true]);
});

it('goes on taking calls in doubt where too few others do', () => {
  const { health } = aWellEngine();
  for (let call = 0; call < 50; call += 1) health.failed('ws_1', no);
  expect([health.state, health.takesCalls]).toEqual(['doubted', true]);
});

it('stands out by five failed calls on end, of two workspaceIds at least', () => {
  const { health } = aWellEngine();
  const calls = (...workspaceIds: string[]) => workspaceIds.map((workspaceId) => health.failed(workspaceId, yes));
  expect(calls('a', 'a', 'a', 'a', 'a', 'b')).toEqual([false, false, false, false, false, true]);
  health.completed('a');
  expect(calls('a', 'b', 'a', 'b', 'a')).toEqual([false, false, false, false, true]);
});

it('is in again where its probe finds it full: that is no fault', () => {
  const { health } = aWellEngine();
  for (let call = 0; call < 3; call += 1) health.failed('ws_1', yes);
  health.endProbe('busy');
  expect([health.state, health.takesCalls]).toEqual(['in', true]);
});

it('has to produce a token where it has calls and says nothing', () => {
  const { health } = aWellEngine();
  expect([false, true].map((isStalled) => health.beginProbe({ isStalled }))).toEqual([false, true]);
});

it.each<[OutReason, boolean]>([
  ['refused', false],
  ['unwell', false],
  ['unreachable', false],
  ['asleep', false],
  ['no_token', true],
  ['failed_calls', true],
  ['fails_more', true],
])('is out for the reason %s, whatever it was, and reachable then: %s', (reason, isReachable) => {
  for (const happens of [() => {}, (health: EngineHealth) => health.doubt(yes)]) {
    const { health } = aWellEngine();
    health.checked();
    happens(health);
    expect([health.leaveOut(reason), health.leaveOut('asleep')]).toEqual([true, false]);
    expect([health.state, health.outReason]).toEqual(['out', reason]);
  }
  const { health } = aWellEngine();
  health.checked();
  health.leaveOut(reason);
  expect(health.isReachable).toBe(isReachable);
});
