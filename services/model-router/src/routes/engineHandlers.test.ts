import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import type { Response } from 'express';
import { aFleet, type Fleet } from '../../test/aFleet.ts';
import { createEngineHandlers } from './engineHandlers.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await aFleet();
});
afterAll(() => fleet.close());

it('lists whole tokens in flight on every engine, and says which are slow', async () => {
  for (const { load } of fleet.engines) {
    // A sum of estimates is no whole number.
    for (const outputTokens of [0.1, 0.2, 41.6])
      load.open({ keyId: 'key_1', hashes: [], promptBytes: 0, uncachedTokens: 0, outputTokens, isStream: true });
    load.isSlow = true;
  }
  const { listEngines } = createEngineHandlers({
    log: aSilentLogger(),
    catalog: { current: () => undefined },
    engines: fleet.registry,
    drains: { has: () => false, set: async () => {} },
  });
  const { engines } = await listEngines({ params: undefined, body: undefined }, {} as Response);
  expect(engines.map(({ id }) => id).sort()).toEqual(fleet.engines.map(({ id }) => id).sort());
  expect(engines.map((engine) => engine.tokens_in_flight)).toEqual([42, 42]);
  expect(engines.map((engine) => engine.is_slow)).toEqual([true, true]);
});
