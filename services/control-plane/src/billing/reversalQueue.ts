import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { fromPrisma, type Job, type JobResult, type PgBoss } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import type { Payments } from './paymentProcessor.ts';
import { continueRefund } from './refunds.ts';

/** Refunds what a region took back. */
const REFUND = 'refund';
/** Looks at the tables once a night, so that nothing depends on a job alone. */
const SWEEP = 'reversal_sweep';

const REFUND_RETRIES = { retryLimit: 50, retryDelay: 1, retryBackoff: true, retryDelayMax: 3_600 };
const SWEEP_RETRIES = { retryLimit: 5, retryDelay: 300 };
const EXPIRE_S = 120;
const POLL_S = 0.5;
const AT_ONCE = 5;
const SWEEP_CRON = '40 3 * * *';
const SWEEP_PAGE = 100;

interface RefundJob {
  refund_id: string;
}

interface ReversalQueueOptions {
  db: Db;
  boss: PgBoss;
  /** Undefined: nothing can be refunded, and no job is worked off. */
  payments: Payments | undefined;
  log: Logger;
}

/** Jobs of money that goes back. Each carries ids alone, reads the rows, and may run twice. */
export class ReversalQueue {
  readonly #options: ReversalQueueOptions;

  constructor(options: ReversalQueueOptions) {
    this.#options = options;
  }

  /** Starts to work off jobs, where there is a payment processor. */
  async start(): Promise<void> {
    const { boss, db, payments } = this.#options;
    await boss.createQueue(REFUND, { ...REFUND_RETRIES, expireInSeconds: EXPIRE_S });
    await boss.createQueue(SWEEP, { ...SWEEP_RETRIES, expireInSeconds: 3_600 });
    if (!payments) return;
    await this.#work<RefundJob>(REFUND, async ({ refund_id: refundId }) => {
      await continueRefund({ db, payments }, refundId);
    });
    await boss.work(SWEEP, async () => {
      await this.sweep();
    });
    await boss.schedule(SWEEP, SWEEP_CRON);
  }

  /** Queues the credit note of a refund, in the transaction that books what was taken. */
  async continue(tx: Tx, refundId: string): Promise<void> {
    const job: RefundJob = { refund_id: refundId };
    await this.#options.boss.send(REFUND, job, { db: fromPrisma(tx) });
  }

  /** Goes on with every refund, whatever has become of its job. Returns how many failed. */
  async sweep(): Promise<number> {
    const { db, payments, log } = this.#options;
    if (!payments) return 0;
    let failed = 0;
    let after: string | undefined = '';
    while (after !== undefined) {
      const page: { id: string }[] = await db.query(sql<{ id: string }>`
        SELECT refund_id AS id FROM refund WHERE state = 'taken' AND refund_id > ${after} ORDER BY refund_id LIMIT ${SWEEP_PAGE}`);
      for (const { id } of page)
        await continueRefund({ db, payments }, id).catch((error: unknown) => {
          failed += 1;
          log.error({ err: error, refundId: id }, 'a refund cannot go on: the next sweep tries it again');
        });
      after = page.at(-1)?.id;
    }
    return failed;
  }

  /** Works off a queue, some jobs at once. A job that fails is tried again, and fails no other one. */
  async #work<J extends object>(queue: string, work: (job: J) => Promise<void>): Promise<void> {
    const { boss, log } = this.#options;
    const options = { pollingIntervalSeconds: POLL_S, batchSize: AT_ONCE, perJobResults: true } as const;
    await boss.work<J, unknown, typeof options>(queue, options, (jobs: Job<J>[]) =>
      Promise.all(
        jobs.map(async ({ id, data }): Promise<JobResult> => {
          try {
            await work(data);
            return { id, status: 'completed' };
          } catch (error) {
            log.warn({ err: error, job: data }, 'money cannot go back: it is tried again');
            return { id, status: 'failed', output: { message: String(error) } };
          }
        }),
      ),
    );
  }
}
