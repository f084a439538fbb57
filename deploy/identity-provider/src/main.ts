import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { startIdentityProvider } from './startIdentityProvider.ts';

runMain(async () => {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'identity-provider', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const provider = await startIdentityProvider({
    listenHost: config.LISTEN_HOST,
    port: config.PORT,
    clients: config.CLIENTS,
    log,
  });
  shutdown.defer('http server', () => provider.close());
  shutdown.onSignals();
  log.info({ issuer: provider.issuer, clients: config.CLIENTS.map(({ client_id: id }) => id) }, 'serving');
});
