import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import express from 'express';
import { aFleet, type Fleet } from '../../test/aFleet.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import { getEngines } from './getEngines.ts';

let fleet: Fleet;
let server: Server;
let url: string;
beforeAll(async () => {
  fleet = await aFleet();
  const handler = getEngines({
    catalog: { current: () => undefined },
    engines: fleet.registry,
    placer: { tokensInFlightOn: () => 0.1 + 0.2 + 41.6, isSlow: () => true },
  });
  server = createServer(express().get('/internal/engines', handler));
  url = await listenAnywhere(server);
});
afterAll(async () => {
  server.close();
  await fleet.close();
});

it('GET /internal/engines counts whole tokens in flight on every engine, and says which are slow', async () => {
  const response = await fetch(`${url}/internal/engines`);
  const { engines } = (await response.json()) as {
    engines: { id: string; tokens_in_flight: number; is_slow: boolean }[];
  };
  expect(engines.map(({ id }) => id).sort()).toEqual(fleet.engines.map(({ id }) => id).sort());
  expect(engines.map((engine) => engine.tokens_in_flight)).toEqual([42, 42]);
  expect(engines.map((engine) => engine.is_slow)).toEqual([true, true]);
});
