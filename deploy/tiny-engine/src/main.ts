import { RequestLog } from '@turnpike/engine-simulator/admin/requestLog';
import { systemClock } from '@turnpike/engine-simulator/engine/clock';
import { createEngineListener } from '@turnpike/engine-simulator/http/engineServer';
import { closeServer, listen } from '@turnpike/engine-simulator/process/listen';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { createTokenizer } from './chatTemplate.ts';
import { loadConfig } from './config.ts';
import { LlamaEngine, MODEL } from './llamaEngine.ts';
import { loadLlama } from './loadLlama.ts';
import { writeTinyModel } from './model/writeTinyModel.ts';

/** Every tiny engine is a replica of one and the same model. */
const MODEL_SEED = 1;

async function main(): Promise<void> {
  const { LISTEN_HOST: host, PORT: port, STATE_DIR: stateDir, LOG_LEVEL: level } = loadConfig(process.env);
  const log = createLogger({ service: 'tiny-engine', level });
  const shutdown = createShutdown({ log });

  const modelPath = await writeTinyModel({ stateDir, seed: MODEL_SEED });
  const loaded = await loadLlama(modelPath);
  shutdown.defer('llama.cpp', () => loaded.close());
  const engine = new LlamaEngine(loaded, { port, log });
  const listener = createEngineListener({
    engine,
    tokenizer: createTokenizer((text) => loaded.model.tokenize(text)),
    plan: (asked) => engine.plan(asked),
    clock: systemClock,
    log: new RequestLog(),
    servingState: () => 'serving',
  });
  const server = await listen(listener, { host, port, program: 'tiny-engine' });
  shutdown.defer('http server', () => closeServer(server));
  shutdown.onSignals();
  log.info({ model: MODEL, port }, 'serving');
}
runMain(main);
