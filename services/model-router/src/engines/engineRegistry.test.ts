import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { aTemporaryFolder } from '../../test/aTemporaryFolder.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import { noMetrics } from '../../test/noMetrics.ts';
import { until } from '../../test/until.ts';
import { createEngineRegistry, type Engine, type EngineRegistry } from './engineRegistry.ts';

const model = aPricedModel();
const servers: Server[] = [];
let registry: EngineRegistry | undefined;

afterEach(async () => {
  await registry?.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const wellBehaved: RequestListener = (req, res) => {
  if (req.url === '/health') res.end();
  else res.end(JSON.stringify({ data: [{ id: model.id }] }));
};

async function startEngines(...listeners: RequestListener[]): Promise<Engine[]> {
  const engines = await Promise.all(
    listeners.map(async (listener, index) => {
      const server = createServer(listener);
      servers.push(server);
      return { id: `e${index}`, url: await listenAnywhere(server), model: model.id };
    }),
  );
  const enginesFile = join(await aTemporaryFolder(), 'engines.json');
  writeFileSync(enginesFile, JSON.stringify({ engines }));
  registry = createEngineRegistry({ enginesFile, metrics: noMetrics, log: aSilentLogger() });
  return registry.findEngines(model);
}

const untilHealthy = (engine: Engine | undefined) => until('an engine to be in', () => engine?.isHealthy === true);

it('leaves an engine out that refused a connection, and takes it back when it answers', async () => {
  const [engine] = await startEngines(wellBehaved);
  await untilHealthy(engine);
  if (engine) registry?.reportRefusal(engine);
  expect(engine?.isHealthy).toBe(false);
  await untilHealthy(engine);
});

it('keeps an engine that broke off a few calls, as one caller could make it do', async () => {
  const [engine, other] = await startEngines(wellBehaved, wellBehaved);
  await untilHealthy(engine);
  await untilHealthy(other);
  for (let call = 0; call < 20; call += 1) {
    if (!engine) throw new Error('no engine');
    registry?.reportBrokenCall(engine);
    expect(engine.isHealthy).toBe(true);
    if (call % 4 === 3) registry?.reportCompletedCall(engine);
  }
});

it('leaves an engine out after five broken calls on end, but never the last one of a model', async () => {
  const [engine, other] = await startEngines(wellBehaved, wellBehaved);
  await untilHealthy(engine);
  await untilHealthy(other);
  if (!engine || !other) throw new Error('no engines');
  for (let call = 0; call < 5; call += 1) registry?.reportBrokenCall(engine);
  expect(engine.isHealthy).toBe(false);
  for (let call = 0; call < 50; call += 1) registry?.reportBrokenCall(other);
  expect(other.isHealthy).toBe(true);
});

it('does not let an engine that never answers delay the return of another', async () => {
  const [mute, engine] = await startEngines(() => {}, wellBehaved);
  await untilHealthy(engine);
  expect(mute?.isHealthy).toBe(false);
});
