import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { startMediaSimulator } from './mediaSimulator.ts';

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'media-simulator', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const simulator = await startMediaSimulator({
    listenHost: config.LISTEN_HOST,
    port: config.PORT,
    adminPort: config.ADMIN_PORT,
    personality: config.PERSONALITY,
    model: config.MODEL,
    dataDir: config.DATA_DIR,
    clock: config.CLOCK,
    knobs: config.KNOBS,
  });
  shutdown.defer('replica', () => simulator.close());
  shutdown.onSignals();
  const { PERSONALITY: personality, MODEL: model, PORT: port, ADMIN_PORT: adminPort } = config;
  log.info({ personality, model, port, adminPort }, 'serving');
}
runMain(main);
