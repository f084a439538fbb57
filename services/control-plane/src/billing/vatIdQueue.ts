import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { fromPrisma, type PgBoss } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import { NotOver, WOKEN, workEach } from '../jobs/workEach.ts';
import type { Payments } from './paymentProcessor.ts';
import { askAgain, readVerdict } from './vatIdGate.ts';

/** Waits for the verdict about a VAT id. */
const VERDICT = 'vat_id_verdict';
/** Asks anew once a night about VAT ids without a verdict or with one of 30 days ago. */
const ASK_AGAIN = 'vat_id_ask_again';
/** The verdict comes within a minute, or counts as missing then. */
const RETRIES = { retryLimit: 1_000, retryDelay: 2, expireInSeconds: 120 };
const CRON = '40 2 * * *';
const AT_MOST = 1_000;

interface VatIdJob {
  organization_id: string;
}

interface VatIdQueueOptions {
  db: Db;
  boss: PgBoss;
  /** Undefined: no job is worked off. */
  payments: Payments | undefined;
  log: Logger;
}

/** Jobs about VAT ids. Each carries an id alone, reads the row, and may run twice. */
export class VatIdQueue {
  readonly #options: VatIdQueueOptions;

  constructor(options: VatIdQueueOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { boss, log, payments } = this.#options;
    await boss.createQueue(VERDICT, RETRIES);
    await boss.createQueue(ASK_AGAIN, { retryLimit: 5, retryDelay: 300, expireInSeconds: 3_600 });
    if (!payments) return;
    const failing = 'the verdict about a VAT id cannot be read: it is tried again';
    await workEach<VatIdJob>({ boss, log }, { queue: VERDICT, failing }, ({ organization_id: id }) =>
      this.#read(payments, id),
    );
    await boss.work(ASK_AGAIN, WOKEN, () => this.askAgain());
    await boss.schedule(ASK_AGAIN, CRON);
  }

  /** Queues the wait for a verdict, in the transaction of the question. */
  async follow(tx: Tx, organizationId: string): Promise<void> {
    await this.#options.boss.send(VERDICT, toJob(organizationId), { db: fromPrisma(tx) });
  }

  /** Queues a look at the verdict, because the processor said that there is one. */
  async look(customer: string): Promise<void> {
    const { db, boss } = this.#options;
    const [row] = await db.query(sql<{ organizationId: string }>`
      SELECT organization_id AS "organizationId" FROM billing_account WHERE psp_customer = ${customer} AND vat_state = 'pending'`);
    if (row) await boss.send(VERDICT, toJob(row.organizationId));
  }

  /** Asks about each VAT id that was verified 30 days ago or has no verdict, and waits again for those whose job is gone. */
  async askAgain(): Promise<void> {
    const { db, boss, payments, log } = this.#options;
    if (!payments) return;
    const due = await db.query(sql<{ organizationId: string }>`
      SELECT organization_id AS "organizationId" FROM billing_account
      WHERE vat_state IN ('pending', 'unavailable') OR (vat_state = 'verified' AND vat_asked_at < now() - INTERVAL '30 days')
      ORDER BY vat_asked_at LIMIT ${AT_MOST}`);
    for (const { organizationId } of due)
      try {
        await askAgain({ db, payments }, organizationId);
        await boss.send(VERDICT, toJob(organizationId));
      } catch (error) {
        log.warn({ err: error, organizationId }, 'a VAT id cannot be asked about: the next night tries it again');
      }
  }

  async #read(payments: Payments, organizationId: string): Promise<void> {
    const state = await readVerdict({ db: this.#options.db, payments }, organizationId).catch((error: unknown) => {
      if (error instanceof ApiError && error.fault.kind === 'details_are_changing') return 'pending' as const;
      throw error;
    });
    if (state === 'pending') throw new NotOver('there is no verdict yet');
  }
}

const toJob = (organizationId: string): VatIdJob => ({ organization_id: organizationId });
