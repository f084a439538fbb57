import type { Logger } from '@turnpike/logging/createLogger';
import { SMTPServer } from 'smtp-server';
import type { Mailbox } from './mailbox.ts';

/** Longest mail that is accepted. */
export const MAX_MAIL_BYTES = 256 * 1_024;
/** Open connections are cut so long after the server was told to close. */
const CLOSE_GRACE_MS = 500;

/** Makes an SMTP server that accepts mails to every address, without authentication. A longer mail is refused with 552. */
export function createSmtpServer(mailbox: Mailbox, log: Logger): SMTPServer {
  const server = new SMTPServer({
    name: 'localhost',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: MAX_MAIL_BYTES,
    rejectOversized: true,
    closeTimeout: CLOSE_GRACE_MS,
    async onData(stream, { envelope }, done) {
      const recipients = envelope.rcptTo.map(({ address }) => address);
      try {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk);
        if (stream.sizeExceeded) return done();
        const { id } = await mailbox.add(Buffer.concat(chunks), recipients);
        log.info({ id, recipients }, 'mail received');
        done();
      } catch (error) {
        log.error({ err: error, recipients }, 'mail not kept');
        done(error as Error);
      }
    },
  });
  // A connection that ends early is the client's affair.
  server.on('error', (error) => log.warn({ err: error }, 'SMTP connection failed'));
  return server;
}
