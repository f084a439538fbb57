import { expect, it } from '@jest/globals';
import { entryOf, forEachOf, layerOf, SERVICE_NAMES } from './services.ts';

it('stops a service before the callees that it cannot be ready without, and the edge before all others', () => {
  for (const name of SERVICE_NAMES)
    for (const callee of entryOf(name).readyAfter ?? []) expect(layerOf(name)).toBeGreaterThan(layerOf(callee));
  expect(forEachOf(SERVICE_NAMES, layerOf)).toMatchObject({
    edge: 3,
    'model-router': 2,
    'media-jobs': 2,
    auth: 1,
    catalog: 1,
    'usage-ledger': 1,
  });
});
