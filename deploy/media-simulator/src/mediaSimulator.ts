import type { Server } from 'node:http';
import { type Clock, systemClock } from '@turnpike/engine-simulator/engine/clock';
import { VirtualClock } from '@turnpike/engine-simulator/engine/virtualClock';
import { closeServer, listen } from '@turnpike/engine-simulator/process/listen';
import { createAdminListener } from './admin/adminServer.ts';
import { createReplicaListener } from './http/replicaServer.ts';
import type { Knobs } from './knobs.ts';
import { PERSONALITIES, type PersonalityName } from './personalities.ts';
import { Replica } from './replica/replica.ts';

export interface MediaSimulatorOptions {
  listenHost: string;
  port: number;
  adminPort: number;
  personality: PersonalityName;
  model: string;
  dataDir: string;
  clock: 'system' | 'virtual';
  knobs: Partial<Knobs>;
}

export interface MediaSimulator {
  /** Closes both listeners and every connection at once, as a process that is killed. */
  close(): Promise<void>;
}

/** Starts one simulated replica and its admin port. Rejects in one line when a port is taken. */
export async function startMediaSimulator(options: MediaSimulatorOptions): Promise<MediaSimulator> {
  const { listenHost: host, port, adminPort, personality, model, dataDir, knobs } = options;
  const virtual = options.clock === 'virtual' ? new VirtualClock() : undefined;
  const clock: Clock = virtual ?? systemClock;
  const replica = new Replica({ personality: PERSONALITIES[personality], model, knobs, dataDir, clock });
  const listener = createReplicaListener(replica);
  const program = 'media-simulator';
  let server: Server | undefined = await listen(listener, { host, port, program });

  async function setPort(wanted: 'open' | 'closed'): Promise<void> {
    if (wanted === 'open') server ??= await listen(listener, { host, port, program });
    if (wanted === 'closed' && server) {
      const closing = server;
      server = undefined;
      await closeServer(closing);
    }
  }

  const adminListener = createAdminListener({
    replica,
    setPort,
    cutConnections: () => server?.closeAllConnections(),
    advance: virtual && ((ms) => virtual.advance(ms)),
  });
  const admin = await listen(adminListener, { host, port: adminPort, program }).catch(async (error: unknown) => {
    await setPort('closed');
    throw error;
  });
  return {
    async close() {
      replica.queue.loseAll();
      await Promise.all([setPort('closed'), closeServer(admin)]);
    },
  };
}
