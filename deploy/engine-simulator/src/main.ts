import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { systemClock } from './engine/clock.ts';
import { startSimulator } from './simulator.ts';

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'engine-simulator', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const simulator = await startSimulator({
    listenHost: config.LISTEN_HOST,
    adminPort: config.ADMIN_PORT,
    engines: config.SIMULATOR_ENGINES,
    clock: systemClock,
  });
  shutdown.defer('engines', () => simulator.close());
  shutdown.onSignals();
  const engines = config.SIMULATOR_ENGINES.map(({ servedModelName, port }) => `${servedModelName} :${port}`);
  log.info({ engines, adminPort: config.ADMIN_PORT }, 'serving');
}
runMain(main);
