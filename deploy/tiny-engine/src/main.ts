import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { createEngineListener } from './http/engineListener.ts';
import { MODEL } from './http/modelRoutes.ts';
import { startServer } from './http/startServer.ts';
import { loadEngine } from './inference/loadEngine.ts';
import { createTinyEngine } from './inference/tinyEngine.ts';
import { writeTinyModel } from './model/writeTinyModel.ts';

/** Every tiny engine is a replica of one and the same model. */
const MODEL_SEED = 1;

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'tiny-engine', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const modelPath = await writeTinyModel({ stateDir: config.STATE_DIR, seed: MODEL_SEED });
  const loaded = await loadEngine(modelPath);
  shutdown.defer('llama.cpp', () => loaded.close());
  const engine = createTinyEngine(loaded);
  const listener = createEngineListener({ engine, log });
  const server = await startServer(listener, { host: config.LISTEN_HOST, port: config.PORT });
  shutdown.defer('http server', () => server.close());
  shutdown.onSignals();
  log.info({ model: MODEL, port: config.PORT }, 'serving');
}
runMain(main);
