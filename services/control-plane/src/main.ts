import { startService } from '@turnpike/http-service/startService';
import { createApp } from './app.ts';
import { configSchema } from './config.ts';

startService({
  name: 'control-plane',
  schema: configSchema,
  open: async ({ log, telemetry }) => createApp({ log, telemetry }),
  routes: (app) => ({ public: app, internal: { routes: [], toWireError: () => undefined }, readinessChecks: {} }),
});
