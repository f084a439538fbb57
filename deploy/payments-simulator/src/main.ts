import { join } from 'node:path';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { startPaymentsSimulator } from './startPaymentsSimulator.ts';

runMain(async () => {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'payments-simulator', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const { WEBHOOK_URL: url, WEBHOOK_SECRET: secret } = config;
  const simulator = await startPaymentsSimulator({
    listenHost: config.LISTEN_HOST,
    port: config.PORT,
    adminPort: config.ADMIN_PORT,
    origin: config.ORIGIN,
    secretKey: config.SECRET_KEY,
    webhook: url !== undefined && secret !== undefined ? { url, secret } : undefined,
    file: join(config.DATA_DIR, 'state.jsonl'),
    log,
  });
  shutdown.defer('listeners', () => simulator.close());
  shutdown.onSignals();
  log.info({ url: simulator.url, adminUrl: simulator.adminUrl }, 'serving');
});
