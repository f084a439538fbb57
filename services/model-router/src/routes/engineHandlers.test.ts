import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import type { Response } from 'express';
import { aFleet, type Fleet } from '../../test/aFleet.ts';
import { aCatalog } from '../../test/aPricedModel.ts';
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
      load.open({
        ...{ keyId: 'key_1', hashes: [], promptBytes: 0, uncachedTokens: 0, isStream: true },
        ...{ outputTokens, maxOutputTokens: outputTokens },
      });
    load.isSlow = true;
  }
  const { listEngines } = createEngineHandlers({
    log: aSilentLogger(),
    catalog: { current: undefined },
    engines: fleet.registry,
    drains: { engineIds: new Set(), set: async () => {} },
  });
  const { engines } = await listEngines({ params: undefined, body: undefined }, {} as Response);
  expect(engines.map(({ id }) => id).sort()).toEqual(fleet.engines.map(({ id }) => id).sort());
  expect(engines.map((engine) => engine.tokens_in_flight)).toEqual([42, 42]);
  expect(engines.map((engine) => engine.is_slow)).toEqual([true, true]);
});

it('says nothing of media models, whatever engines list: what is live of them is not the router’s to say', () => {
  const [engine] = fleet.engines;
  if (!engine) throw new Error('a fleet of engines');
  const catalog = aCatalog(
    { id: 'writer' },
    ...(['image', 'audio', 'video'] as const).map((category) => ({ id: category, category })),
  );
  const { getLiveModels } = createEngineHandlers({
    log: aSilentLogger(),
    catalog: { current: catalog },
    engines: Object.assign(Object.create(fleet.registry), { findEngines: () => [engine], isConfigured: () => true }),
    drains: { engineIds: new Set(), set: async () => {} },
  });
  expect(getLiveModels({ params: undefined, body: undefined }, {} as Response)).toEqual({
    models: { writer: { engines: 1, healthy: expect.any(Number) } },
  });
});
