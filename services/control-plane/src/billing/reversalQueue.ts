import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { fromPrisma, type PgBoss } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import { WOKEN, workEach } from '../jobs/workEach.ts';
import type { Outbox } from '../mail/outbox.ts';
import { compareWithProcessor } from './compareWithProcessor.ts';
import { settleDispute } from './disputes.ts';
import type { Payments } from './paymentProcessor.ts';
import { continueRefund, settlePspRefund } from './refunds.ts';

/** Refunds what a region took back. */
const REFUND = 'refund';
/** Looks at the tables once a night, so that nothing depends on a job alone. */
const SWEEP = 'reversal_sweep';
/** Works off a webhook. */
const EVENT = 'reversal_event';
/** Asks the processor for disputes. */
const POLL = 'dispute_poll';
/** Holds the movements at the processor against the books. */
const COMPARE = 'payments_compare';

const REFUND_RETRIES = { retryLimit: 50, retryDelay: 1, retryBackoff: true, retryDelayMax: 3_600 };
const EVENT_RETRIES = { retryLimit: 50, retryDelay: 1, retryBackoff: true, retryDelayMax: 3_600 };
const SWEEP_RETRIES = { retryLimit: 5, retryDelay: 300 };
const EXPIRE_S = 120;
const FAILING = 'money cannot go back: it is tried again';
const SWEEP_CRON = '40 3 * * *';
const POLL_CRON = '7 * * * *';
/** After the sweeps, so that no payment is missing that they find. */
const COMPARE_CRON = '10 4 * * *';
/** A dispute is asked for that was opened so long ago, whether or not we know it. */
const POLL_BACK_S = 3 * 86_400;
/** The bank of the customer may send the money of a refund back for so long. */
const REFUND_FAILS_DAYS = 30;
const SWEEP_PAGE = 100;

interface RefundJob {
  refund_id: string;
}

interface EventJob {
  object_id: string;
  event_id: string;
}

interface ReversalQueueOptions {
  db: Db;
  boss: PgBoss;
  /** Undefined: nothing can be refunded, and no job is worked off. */
  payments: Payments | undefined;
  outbox: Outbox;
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
    const { boss, db, payments, log } = this.#options;
    await boss.createQueue(REFUND, { ...REFUND_RETRIES, expireInSeconds: EXPIRE_S });
    await boss.createQueue(EVENT, { ...EVENT_RETRIES, expireInSeconds: EXPIRE_S });
    await boss.createQueue(POLL, { ...SWEEP_RETRIES, expireInSeconds: 3_600 });
    await boss.createQueue(COMPARE, { ...SWEEP_RETRIES, expireInSeconds: 3_600 });
    await boss.createQueue(SWEEP, { ...SWEEP_RETRIES, expireInSeconds: 3_600 });
    if (!payments) return;
    const queues = { boss, log };
    await workEach<RefundJob>(queues, { queue: REFUND, failing: FAILING }, async ({ refund_id: refundId }) => {
      await continueRefund({ db, payments }, refundId);
    });
    await workEach<EventJob>(queues, { queue: EVENT, failing: FAILING }, (job) => this.#workOff(payments, job));
    await boss.work(POLL, WOKEN, async () => {
      await this.poll();
    });
    await boss.schedule(POLL, POLL_CRON);
    await boss.work(COMPARE, WOKEN, async () => {
      const { differences } = await compareWithProcessor({ db, payments });
      for (const difference of differences)
        log.error(difference, 'ALERT a movement at the payment processor differs from our books');
    });
    await boss.schedule(COMPARE, COMPARE_CRON);
    await boss.work(SWEEP, WOKEN, async () => {
      await this.sweep();
    });
    await boss.schedule(SWEEP, SWEEP_CRON);
  }

  /** Queues the credit note of a refund, in the transaction that books what was taken. */
  async continue(tx: Tx, refundId: string): Promise<void> {
    const job: RefundJob = { refund_id: refundId };
    await this.#options.boss.send(REFUND, job, { db: fromPrisma(tx) });
  }

  /** Queues the work of a webhook, in the transaction of its row. */
  async workOff(tx: Tx, job: EventJob): Promise<void> {
    await this.#options.boss.send(EVENT, job, { db: fromPrisma(tx) });
  }

  /**
   * Goes on with every refund, looks at those of the last month, works off every webhook and polls, whatever has become of the jobs.
   * Returns how many failed.
   */
  async sweep(): Promise<number> {
    const { db, payments } = this.#options;
    if (!payments) return 0;
    let failed = await this.#each('a refund cannot go on', toOpenRefunds, ({ id }) =>
      continueRefund({ db, payments }, id),
    );
    failed += await this.#each('a refund cannot be looked at', toRefunded, ({ objectId }) =>
      settlePspRefund({ db, payments }, objectId),
    );
    failed += await this.#each('a webhook cannot be worked off', toOpenEvents, ({ id, objectId }) =>
      this.#workOff(payments, { object_id: objectId, event_id: id }),
    );
    return failed + (await this.poll());
  }

  /** Settles the disputes that the processor opened lately, and all that are open in the books. Returns how many failed. */
  async poll(): Promise<number> {
    const { db, payments, outbox, log } = this.#options;
    if (!payments) return 0;
    let failed = 0;
    const since = Math.floor(Date.now() / 1_000) - POLL_BACK_S;
    for await (const { id } of payments.stripe.disputes.list({ created: { gte: since }, limit: 100 }))
      await settleDispute({ db, payments, outbox }, id).catch((error: unknown) => {
        failed += 1;
        log.error({ err: error, disputeId: id }, 'a dispute cannot be settled: the next poll tries it again');
      });
    const ofBooks = await this.#each('a dispute cannot be settled', toOpenDisputes, ({ id }) =>
      settleDispute({ db, payments, outbox }, id),
    );
    return failed + ofBooks;
  }

  /** A webhook is done once its object was settled after it had come. */
  async #workOff(payments: Payments, { object_id: objectId, event_id: eventId }: EventJob): Promise<void> {
    const { db, outbox } = this.#options;
    const settle = /^(dp|du)_/.test(objectId) ? settleDispute : settlePspRefund;
    await settle({ db, payments, outbox }, objectId);
    await db.execute(sql`UPDATE psp_event SET done_at = now() WHERE event_id = ${eventId} AND done_at IS NULL`);
  }

  /** Works on rows by their ids, page by page. Returns how many failed. */
  async #each(
    failing: string,
    toStatement: (after: string) => ReturnType<typeof sql<Listed>>,
    work: (listed: Listed) => Promise<unknown>,
  ): Promise<number> {
    const { db, log } = this.#options;
    let failed = 0;
    let after: string | undefined = '';
    while (after !== undefined) {
      const page: Listed[] = await db.query(toStatement(after));
      for (const listed of page)
        await work(listed).catch((error: unknown) => {
          failed += 1;
          log.error({ err: error, ...listed }, `${failing}: it is tried again`);
        });
      after = page.at(-1)?.id;
    }
    return failed;
  }
}

interface Listed {
  id: string;
  objectId: string;
}

const toOpenRefunds = (after: string) => sql<Listed>`
  SELECT refund_id AS id, refund_id AS "objectId" FROM refund
  WHERE state = 'taken' AND refund_id > ${after} ORDER BY refund_id LIMIT ${SWEEP_PAGE}`;
const toRefunded = (after: string) => sql<Listed>`
  SELECT refund_id AS id, psp_refund_id AS "objectId" FROM refund
  WHERE state = 'refunded' AND ended_at > now() - make_interval(days => ${REFUND_FAILS_DAYS}::INTEGER) AND refund_id > ${after}
  ORDER BY refund_id LIMIT ${SWEEP_PAGE}`;
const toOpenEvents = (after: string) => sql<Listed>`
  SELECT event_id AS id, object_id AS "objectId" FROM psp_event
  WHERE done_at IS NULL AND object_id IS NOT NULL AND event_id > ${after} ORDER BY event_id LIMIT ${SWEEP_PAGE}`;
const toOpenDisputes = (after: string) => sql<Listed>`
  SELECT dispute_id AS id, dispute_id AS "objectId" FROM dispute
  WHERE (status NOT IN ('won', 'lost', 'prevented', 'warning_closed') OR (status = 'won' AND is_taken)) AND dispute_id > ${after}
  ORDER BY dispute_id LIMIT ${SWEEP_PAGE}`;
