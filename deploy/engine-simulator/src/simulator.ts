import type { Server } from 'node:http';
import { createAdminListener } from './admin/adminServer.ts';
import { RequestLog } from './admin/requestLog.ts';
import type { EngineConfig } from './config.ts';
import type { Clock } from './engine/clock.ts';
import { FaultRules } from './faults/faultRules.ts';
import { EngineProcess } from './process/engineProcess.ts';
import { closeServer, listen } from './process/listen.ts';

export interface Simulator {
  /** Closes every listener and connection at once, as a process that is killed. */
  close(): Promise<void>;
}

export interface SimulatorOptions {
  listenHost: string;
  adminPort: number;
  engines: readonly EngineConfig[];
  clock: Clock;
}

/** Starts the engines, each on its own port, and their common admin port. Rejects in one line when a port is taken. */
export async function startSimulator({
  listenHost,
  adminPort,
  engines: configs,
  clock,
}: SimulatorOptions): Promise<Simulator> {
  const log = new RequestLog();
  const faultRules = new FaultRules();
  const processes = configs.map((config) => new EngineProcess({ config, clock, listenHost, log, faultRules }));
  let admin: Server | undefined;

  async function close(): Promise<void> {
    await Promise.all([...processes.map((process) => process.close()), admin && closeServer(admin)]);
  }

  try {
    for (const process of processes) await process.open();
    admin = await listen(createAdminListener({ processes, log, faultRules }), {
      host: listenHost,
      port: adminPort,
      program: 'engine-simulator',
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}
