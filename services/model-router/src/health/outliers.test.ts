import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findOutliers, mayLeaveOut, RecentCalls } from './engineHealth.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const summary = { workspaces: 10, failedShare: 0 };
const fleetOf = (...summaries: Partial<typeof summary>[]) =>
  summaries.map((fields, index) => ({ engine: `e${index}`, summary: { ...summary, ...fields } }));

it('finds the engine that fails more of its callers than the others, of two as of three', () => {
  expect(findOutliers(fleetOf({}, { failedShare: 0.4 }))).toEqual(['e1']);
  expect(findOutliers(fleetOf({}, { failedShare: 0.4 }, {}))).toEqual(['e1']);
});

it.each([
  ['an engine is alone', fleetOf({ failedShare: 1 })],
  ['all are as bad', fleetOf({ failedShare: 1 }, { failedShare: 0.9 })],
  ['there were too few calls to tell', fleetOf({ workspaces: 4, failedShare: 1 }, {})],
])('finds none when %s', (_case, fleet) => {
  expect(findOutliers(fleet)).toEqual([]);
});

it('never leaves out more than half of a fleet on suspicion, nor the last engine', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 40 }),
      (well, suspects) => {
        const fleet = well.map((isHealthy) => ({ isHealthy }));
        const before = fleet.filter(({ isHealthy }) => isHealthy).length;
        for (const at of suspects) {
          const suspect = fleet[at % fleet.length];
          if (suspect && mayLeaveOut(suspect, fleet)) suspect.isHealthy = false;
        }
        const remaining = fleet.filter(({ isHealthy }) => isHealthy).length;
        expect(remaining).toBeGreaterThanOrEqual(Math.min(before, Math.max(1, Math.ceil(fleet.length / 2))));
      },
    ),
  );
});

it('gives each workspace one vote, its latest, for 30 s', () => {
  let nowMs = 0;
  const recent = new RecentCalls(() => nowMs);
  for (let call = 0; call < 100; call += 1) recent.ended('ws_hostile', true);
  for (const workspaceId of ['ws_1', 'ws_2', 'ws_3']) recent.ended(workspaceId, false);
  expect(recent.summarize()).toMatchObject({ workspaces: 4, failedShare: 0.25 });
  recent.ended('ws_hostile', false);
  expect(recent.summarize().failedShare).toBe(0);
  nowMs = 30_000;
  expect(recent.summarize()).toEqual({ workspaces: 0, failedShare: 0 });
});
