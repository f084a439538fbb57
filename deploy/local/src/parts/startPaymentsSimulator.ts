import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import type { PaymentsPorts } from '../stackPorts.ts';
import { isHealthy } from './startSimulator.ts';

const PROGRAM = join(repositoryRoot, 'deploy/payments-simulator/src/main.ts');

export interface PaymentsSimulatorOptions {
  parts: Parts;
  ports: PaymentsPorts;
  /** The account layer's key, and the endpoint that gets every event. */
  account: { secretKey: string; webhookUrl: string; webhookSecret: string };
  /** Folder of the state. */
  dataDir: string;
}

/** Starts the payments simulator, and resolves when it serves. */
export async function startPaymentsSimulator(options: PaymentsSimulatorOptions): Promise<Part> {
  const { parts, ports, account, dataDir } = options;
  const part = parts.start({
    name: 'payments-simulator',
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: {
      PORT: String(ports.port),
      ADMIN_PORT: String(ports.adminPort),
      SECRET_KEY: account.secretKey,
      WEBHOOK_URL: account.webhookUrl,
      WEBHOOK_SECRET: account.webhookSecret,
      DATA_DIR: dataDir,
    },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  await parts.untilReady(part, () => isHealthy(ports.port));
  return part;
}
