import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { startMediaSimulator } from '@turnpike/media-simulator/mediaSimulator';
import type { MediaBackend } from './mediaBackends.ts';

/** Durations long enough to see a job run. */
const KNOBS = { renderBaseMs: 300, msPerFrame: 20 };

/** All simulated media backends of a stack in one process: a process for each would be most of the stack. */
runMain(async () => {
  const log = createLogger({ service: 'media-simulators', level: 'info' });
  const shutdown = createShutdown({ log });
  const backends: MediaBackend[] = JSON.parse(process.env.BACKENDS ?? '');
  for (const { personality, model, port, adminPort, dataDir, voices } of backends) {
    const knobs = { ...KNOBS, ...(voices && { voices }) };
    const options = { listenHost: '127.0.0.1', port, adminPort, personality, model, dataDir, knobs };
    const replica = await startMediaSimulator({ ...options, clock: 'system' });
    shutdown.defer(model, () => replica.close());
  }
  shutdown.onSignals();
});
