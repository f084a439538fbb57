import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Response } from 'express';
import { aFleet, type Fleet } from '../../test/aFleet.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { createEngineHandlers } from './engineHandlers.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await aFleet();
});
afterAll(() => fleet.close());

it('lists whole tokens in flight on every engine, and says which are slow', async () => {
  const { listEngines } = createEngineHandlers({
    log: aSilentLogger(),
    catalog: { current: () => undefined },
    engines: fleet.registry,
    placer: { tokensInFlightOn: () => 0.1 + 0.2 + 41.6, isSlow: () => true },
    drains: { has: () => false, set: async () => {} },
  });
  const { engines } = await listEngines({ params: undefined, body: undefined }, {} as Response);
  expect(engines.map(({ id }) => id).sort()).toEqual(fleet.engines.map(({ id }) => id).sort());
  expect(engines.map((engine) => engine.tokens_in_flight)).toEqual([42, 42]);
  expect(engines.map((engine) => engine.is_slow)).toEqual([true, true]);
});
