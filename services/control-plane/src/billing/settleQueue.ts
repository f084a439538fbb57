import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { fromPrisma, type PgBoss } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import { NotOver, WOKEN, workEach } from '../jobs/workEach.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Payments } from './paymentProcessor.ts';
import { settleTopUp } from './settleTopUp.ts';
import { isFinal } from './topUpStates.ts';

/** Follows a top-up from its start: looks again and again, less and less often, until it is over. */
const FOLLOW = 'top_up_follow';
/** Works off a webhook. */
const EVENT = 'top_up_event';
/** Looks at the tables once a night, so that nothing depends on a job alone. */
const SWEEP = 'top_up_sweep';

const FOLLOW_AFTER_S = 120;
/** From 2 minutes to an hour between two looks, for some two days. A Checkout page ends within a day. */
const FOLLOW_RETRIES = { retryLimit: 50, retryDelay: 60, retryBackoff: true, retryDelayMax: 3_600 };
/** A charge that failed is tried again at once, because calls may be refused until it has succeeded. */
const CHARGE_RETRY_S = 1;
const EVENT_RETRIES = { retryLimit: 50, retryDelay: 1, retryBackoff: true, retryDelayMax: 3_600 };
const SWEEP_RETRIES = { retryLimit: 5, retryDelay: 300 };
const EXPIRE_S = 120;
const SWEEP_CRON = '20 3 * * *';
const SWEEP_PAGE = 100;
const FAILING = 'a top-up cannot be settled: it is tried again';

interface FollowJob {
  top_up_id: string;
}
interface EventJob extends FollowJob {
  event_id: string;
}

interface SettleQueueOptions {
  db: Db;
  boss: PgBoss;
  /** Undefined: nothing can be paid in, and no job is worked off. */
  payments: Payments | undefined;
  outbox: Outbox;
  log: Logger;
  /** Seconds until the first look at a new top-up. */
  followAfterSeconds?: number;
}

/** Jobs that settle top-ups. Each carries ids alone, reads the rows, and may run twice. */
export class SettleQueue {
  readonly #options: SettleQueueOptions;

  constructor(options: SettleQueueOptions) {
    this.#options = options;
  }

  /** Starts to work off jobs, where there is a payment processor. */
  async start(): Promise<void> {
    const { boss, db, payments, outbox, log } = this.#options;
    await boss.createQueue(FOLLOW, { ...FOLLOW_RETRIES, expireInSeconds: EXPIRE_S });
    await boss.createQueue(EVENT, { ...EVENT_RETRIES, expireInSeconds: EXPIRE_S });
    await boss.createQueue(SWEEP, { ...SWEEP_RETRIES, expireInSeconds: 3_600 });
    if (!payments) return;
    const queues = { boss, log };
    await workEach<FollowJob>(queues, { queue: FOLLOW, failing: FAILING }, async ({ top_up_id: topUpId }) => {
      const state = await settleTopUp({ db, payments, outbox }, topUpId);
      if (!isFinal(state)) throw new NotOver(`the top-up is ${state}: it is looked at again`);
    });
    await workEach<EventJob>(queues, { queue: EVENT, failing: FAILING }, (job) => this.#workOff(payments, job));
    await boss.work(SWEEP, WOKEN, async () => {
      await this.sweep();
    });
    await boss.schedule(SWEEP, SWEEP_CRON);
  }

  /** Queues the looks at a new top-up that somebody pays on a page, in the transaction of its row. */
  async follow(tx: Tx, topUpId: string): Promise<void> {
    const { boss, followAfterSeconds = FOLLOW_AFTER_S } = this.#options;
    const job: FollowJob = { top_up_id: topUpId };
    await boss.send(FOLLOW, job, { db: fromPrisma(tx), startAfter: followAfterSeconds });
  }

  /** Queues the charge of an automatic top-up and the looks at it, in the transaction of its row. */
  async charge(tx: Tx, topUpId: string): Promise<void> {
    const job: FollowJob = { top_up_id: topUpId };
    await this.#options.boss.send(FOLLOW, job, { db: fromPrisma(tx), retryDelay: CHARGE_RETRY_S });
  }

  /** Queues the work of a webhook, in the transaction of its row. */
  async workOff(tx: Tx, job: EventJob): Promise<void> {
    await this.#options.boss.send(EVENT, job, { db: fromPrisma(tx) });
  }

  /** Settles every top-up that is not over, and works off every webhook, whatever has become of their jobs. Returns how many failed. */
  async sweep(): Promise<number> {
    const { db, payments, outbox, log } = this.#options;
    if (!payments) return 0;
    let failed = 0;
    const fail = (error: unknown, ids: object): void => {
      failed += 1;
      log.error({ err: error, ...ids }, 'a top-up cannot be settled: the next sweep tries it again');
    };
    for await (const { id } of listAll(db, toOpenTopUps))
      await settleTopUp({ db, payments, outbox }, id).catch((error: unknown) => fail(error, { topUpId: id }));
    for await (const { id, topUpId } of listAll(db, toOpenEvents))
      await this.#workOff(payments, { top_up_id: topUpId, event_id: id }).catch((error: unknown) =>
        fail(error, { topUpId }),
      );
    return failed;
  }

  /** A webhook is done once its top-up was settled after it had come. */
  async #workOff(payments: Payments, { top_up_id: topUpId, event_id: eventId }: EventJob): Promise<void> {
    const { db, outbox } = this.#options;
    await settleTopUp({ db, payments, outbox }, topUpId);
    await db.execute(sql`UPDATE psp_event SET done_at = now() WHERE event_id = ${eventId} AND done_at IS NULL`);
  }
}

interface Listed {
  id: string;
  topUpId: string;
}

const toOpenTopUps = (after: string) => sql<Listed>`
  SELECT top_up_id AS id, top_up_id AS "topUpId" FROM top_up
  WHERE state NOT IN ('invoiced', 'declined', 'expired') AND top_up_id > ${after}
  ORDER BY top_up_id LIMIT ${SWEEP_PAGE}`;
const toOpenEvents = (after: string) => sql<Listed>`
  SELECT event_id AS id, top_up_id AS "topUpId" FROM psp_event
  WHERE done_at IS NULL AND top_up_id IS NOT NULL AND event_id > ${after} ORDER BY event_id LIMIT ${SWEEP_PAGE}`;

/** Reads rows by their ids, page by page. */
async function* listAll(
  db: Db,
  toStatement: (after: string) => ReturnType<typeof sql<Listed>>,
): AsyncGenerator<Listed> {
  let after: string | undefined = '';
  while (after !== undefined) {
    const page: Listed[] = await db.query(toStatement(after));
    yield* page;
    after = page.at(-1)?.id;
  }
}
