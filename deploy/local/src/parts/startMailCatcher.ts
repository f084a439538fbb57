import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import type { MailCatcherPorts } from '../stackPorts.ts';
import { isHealthy } from './startSimulator.ts';

const PROGRAM = join(repositoryRoot, 'deploy/mail-catcher/src/main.ts');

export interface MailCatcherOptions {
  parts: Parts;
  ports: MailCatcherPorts;
  /** Folder of the mails. */
  dataDir: string;
}

/** Starts the mail catcher, and resolves when both of its listeners serve. */
export async function startMailCatcher({ parts, ports, dataDir }: MailCatcherOptions): Promise<Part> {
  const { port, smtpPort } = ports;
  const part = parts.start({
    name: 'mail-catcher',
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: { PORT: String(port), SMTP_PORT: String(smtpPort), MAILS_DIR: dataDir },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  await parts.untilReady(part, () => isHealthy(port));
  return part;
}
