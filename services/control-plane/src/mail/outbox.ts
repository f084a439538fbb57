import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import { createTransport, type Transporter } from 'nodemailer';
import type { JobWithMetadata, PgBoss } from 'pg-boss';
import { fromPrisma } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import { Prisma } from '../generated/client.ts';
import { WOKEN } from '../jobs/workEach.ts';
import { observeMails, MAIL_QUEUE as QUEUE, toMailOutcome } from './observeMails.ts';
import { type MailOf, writeMail } from './templates.ts';

/** Attempts over some two days, the first again after 5 s. */
const RETRIES = { retryLimit: 20, retryDelay: 5, retryBackoff: true, retryDelayMax: 4 * 3_600 };
/** A mail server that is silent for so long is given up for this attempt. */
const SILENCE_MS = 10_000;
const EXPIRE_S = 60;

interface MailerOptions {
  db: Db;
  boss: PgBoss;
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  smtpUrl: string;
  /** The sender of every mail: `Turnpike <no-reply@…>`. */
  from: string;
  accountOrigin: string;
  meter: Meter;
  log: Logger;
}

/**
 * Mails that leave the account layer. A mail is a row and a job in the transaction of its cause: rolled back, there is none. It is sent
 * at least once; a crash between the server's word and the row may send it twice.
 */
export class Outbox {
  readonly #options: MailerOptions;
  readonly #transport: Transporter;
  readonly #countAttempt: ReturnType<typeof observeMails>;

  constructor(options: MailerOptions) {
    this.#options = options;
    this.#countAttempt = observeMails(options.meter, options.db);
    this.#transport = createTransport(
      {
        url: options.smtpUrl,
        pool: true,
        maxConnections: 2,
        connectionTimeout: SILENCE_MS,
        greetingTimeout: SILENCE_MS,
        socketTimeout: SILENCE_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      },
      { from: options.from },
    );
  }

  /** Starts to send what is queued. */
  async start(): Promise<void> {
    const { boss } = this.#options;
    await boss.createQueue(QUEUE, { ...RETRIES, expireInSeconds: EXPIRE_S });
    await boss.work(
      QUEUE,
      { ...WOKEN, includeMetadata: true },
      async (jobs: JobWithMetadata<{ mail_id: string }>[]) => {
        for (const { data, retryCount, retryLimit } of jobs)
          await this.#send(data.mail_id, { isLast: retryCount >= retryLimit });
      },
    );
  }

  /** Queues a mail in the transaction of its cause. */
  async post(tx: Tx, { template, address, data }: MailOf): Promise<void> {
    const mailId = `mail_${newUuidV7()}`;
    await tx.mail.create({ data: { mailId, template, address, data } });
    await this.#options.boss.send(QUEUE, { mail_id: mailId }, { db: fromPrisma(tx) });
  }

  async #send(mailId: string, { isLast }: { isLast: boolean }): Promise<void> {
    const { db, accountOrigin, log } = this.#options;
    const mail = await db.mail.findUnique({ where: { mailId } });
    if (!mail || mail.sentAt !== null) return;
    const text = writeMail(mail.template, mail.data, accountOrigin);
    try {
      // An address of our own strict schema, never a list and never a header.
      await this.#transport.sendMail({ ...text, to: { name: '', address: mail.address } });
    } catch (error) {
      this.#countAttempt(toMailOutcome(error, { isLast }));
      const what = isLast
        ? 'a mail could not be sent, at its last attempt'
        : 'a mail could not be sent: it is tried again';
      log.warn({ err: error, mailId, template: mail.template }, what);
      throw error;
    }
    this.#countAttempt('sent');
    await db.mail.update({ where: { mailId }, data: { sentAt: new Date(), data: Prisma.DbNull } });
  }

  close(): void {
    this.#transport.close();
  }
}
