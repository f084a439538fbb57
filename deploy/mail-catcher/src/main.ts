import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { loadConfig } from './config.ts';
import { startMailCatcher } from './startMailCatcher.ts';

runMain(async () => {
  const config = loadConfig(process.env);
  const log = createLogger({ service: 'mail-catcher', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const catcher = await startMailCatcher({
    listenHost: config.LISTEN_HOST,
    port: config.PORT,
    smtpPort: config.SMTP_PORT,
    folder: config.MAILS_DIR,
    log,
  });
  shutdown.defer('listeners', () => catcher.close());
  shutdown.onSignals();
  log.info({ port: config.PORT, smtpPort: config.SMTP_PORT }, 'serving');
});
