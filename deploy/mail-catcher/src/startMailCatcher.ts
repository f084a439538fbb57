import { once } from 'node:events';
import { drain } from '@turnpike/http-service/drain';
import { listen } from '@turnpike/http-service/listen';
import type { Logger } from '@turnpike/logging/createLogger';
import { createSmtpServer } from './createSmtpServer.ts';
import { createWebListener } from './createWebListener.ts';
import { Mailbox } from './mailbox.ts';

interface MailCatcherOptions {
  /** Address of both listeners. */
  listenHost: string;
  port: number;
  smtpPort: number;
  /** Folder of the mails. */
  folder: string;
  log: Logger;
}

/** Accepts mails by SMTP, and serves them as a page and as JSON. Rejects if a port is taken. */
export async function startMailCatcher(options: MailCatcherOptions): Promise<{ close(): Promise<void> }> {
  const { listenHost, port, smtpPort, folder, log } = options;
  const mailbox = await Mailbox.open(folder);
  const smtp = createSmtpServer(mailbox, log);
  smtp.listen(smtpPort, listenHost);
  await once(smtp.server, 'listening');
  const web = await listen(createWebListener(mailbox), { host: listenHost, port });
  return {
    async close() {
      await new Promise<void>((resolve) => smtp.close(resolve));
      await drain([web], { settleMs: 0 });
    },
  };
}
