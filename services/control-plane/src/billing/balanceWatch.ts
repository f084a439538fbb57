import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import type { PgBoss } from 'pg-boss';
import type { AlertWebhooks } from '../alerts/alertWebhooks.ts';
import { raiseAlerts } from '../alerts/raiseAlerts.ts';
import { SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { NotOver, WOKEN, workEach } from '../jobs/workEach.ts';
import type { Outbox } from '../mail/outbox.ts';
import { mailPayers } from '../organizations/mailPayers.ts';
import { lockOrganization } from '../organizations/workspaces.ts';
import { toBillingPage } from './billingPage.ts';
import { toMoneyText } from './currencies.ts';
import type { Payments } from './paymentProcessor.ts';
import type { SettleQueue } from './settleQueue.ts';
import { findStanding, type LimitReason, type Pause, type Rule, type Standing } from './standing.ts';
import { findTaxChange } from './taxIds.ts';

/** Looks at the balance of a workspace. At most one such job of a workspace waits. */
const QUEUE = 'balance';
/** Looks at every workspace that has alerts or a low balance, so that no pause and no lost job leaves it so. */
const SWEEP = 'balance_sweep';
const RETRIES = { retryLimit: 10, retryDelay: 1, retryBackoff: true, retryDelayMax: 300 };
const EXPIRE_S = 60;
const SWEEP_CRON = '*/5 * * * *';
const SWEEP_PAGE = 500;
/**
 * An automatic top-up begins no attempt after so long. The processor keeps idempotency keys for 24 hours.
 */
const ATTEMPTS_HOURS = 20;

interface LookJob {
  workspace_id: string;
}

interface BalanceWatchOptions {
  db: Db;
  boss: PgBoss;
  outbox: Outbox;
  settleQueue: SettleQueue;
  alertWebhooks: AlertWebhooks;
  /** Undefined: no card is charged. */
  payments: Payments | undefined;
  log: Logger;
  /** The times of the sweep. */
  sweepCron?: string;
}

/** Follows the balances that regions report, raises alerts, and starts automatic top-ups. */
export class BalanceWatch {
  readonly #options: BalanceWatchOptions;

  constructor(options: BalanceWatchOptions) {
    this.#options = options;
  }

  /** Starts to look. */
  async start(): Promise<void> {
    const { boss, log, sweepCron = SWEEP_CRON } = this.#options;
    await boss.createQueue(QUEUE, { ...RETRIES, policy: 'short', expireInSeconds: EXPIRE_S });
    await boss.createQueue(SWEEP, { retryLimit: 2, expireInSeconds: 240 });
    const failing = 'a balance cannot be looked at: it is tried again';
    await workEach<LookJob>({ boss, log }, { queue: QUEUE, failing }, ({ workspace_id: workspaceId }) =>
      this.#watch(workspaceId),
    );
    await boss.work(SWEEP, WOKEN, async () => {
      await this.sweep();
    });
    await boss.schedule(SWEEP, sweepCron);
  }

  /**
   * Queues a look at a workspace, unless one waits. The caller has committed what the look is to see. A look that is lost in a crash is
   * made up for by the sweep.
   */
  async queueLook(workspaceId: string): Promise<void> {
    const job: LookJob = { workspace_id: workspaceId };
    await this.#options.boss.send(QUEUE, job, { singletonKey: workspaceId });
  }

  /** Queues looks at those of the workspaces that have an automatic top-up or alerts. */
  async queueLooks(workspaceIds: readonly string[]): Promise<void> {
    const watched = await this.#options.db.query(sql<{ id: string }>`
      SELECT workspace_id AS id FROM top_up_rule WHERE off_reason IS NULL AND workspace_id = ANY(${workspaceIds}::TEXT[])
      UNION SELECT workspace_id FROM alert_rule WHERE workspace_id = ANY(${workspaceIds}::TEXT[])`);
    for (const { id } of watched) await this.queueLook(id);
  }

  /** Looks at every workspace with alerts or with a balance below its threshold, and returns how many looks failed. */
  async sweep(): Promise<number> {
    const { db, log } = this.#options;
    let failed = 0;
    let after: string | undefined = '';
    while (after !== undefined) {
      const page: { id: string }[] = await db.query(sql<{ id: string }>`
        SELECT id FROM (
          SELECT rule.workspace_id AS id
          FROM top_up_rule AS rule JOIN top_up_mandate USING (mandate_id) JOIN wallet ON wallet.workspace_id = rule.workspace_id
          WHERE off_reason IS NULL AND credited_nano_usd - spent_nano_usd < threshold_nano_usd AND rule.workspace_id > ${after}
          UNION SELECT workspace_id FROM alert_rule WHERE workspace_id > ${after}
        ) AS watched
        ORDER BY id LIMIT ${SWEEP_PAGE}`);
      for (const { id } of page)
        await this.#watch(id).catch((error: unknown) => {
          if (error instanceof NotOver) return;
          failed += 1;
          log.error({ err: error, workspaceId: id }, 'a balance cannot be looked at: the next sweep tries it again');
        });
      after = page.at(-1)?.id;
    }
    return failed;
  }

  async #watch(workspaceId: string): Promise<void> {
    await raiseAlerts(this.#options, workspaceId, new Date());
    await this.look(workspaceId);
  }

  /**
   * Starts the automatic top-up of a workspace if its balance is low and nothing holds it back. Looks at the same time start one.
   * Returns the id of the one that was started. Throws `NotOver` while the tax is not known, which takes a minute at most.
   */
  async look(workspaceId: string, now = new Date()): Promise<string | undefined> {
    const { db, payments, settleQueue } = this.#options;
    if (!payments) return undefined;
    const before = await findStanding(db, workspaceId, now);
    if (!isLow(before)) return undefined;
    const { organizationId } = before.rule;
    return db.$transaction(async (tx) => {
      // Holds, payments and other looks of the organization take turns with this one.
      await lockOrganization(tx, organizationId);
      const standing = await findStanding(tx, workspaceId, now);
      if (!isLow(standing)) return undefined;
      const change = await findTaxChange(tx, organizationId);
      if (change) throw new NotOver(change);
      if (standing.pause) {
        await this.#noticeLimit(tx, { workspaceId, rule: standing.rule, pause: standing.pause, now });
        return undefined;
      }
      const { mandateId, currency, netCents, confirmedBy } = standing.rule;
      const topUpId = `topup_${newUuidV7()}`;
      const started = await tx.$executeRaw(sql`
        INSERT INTO top_up (top_up_id, workspace_id, kind, mandate_id, currency, net_cents, started_by, created_at, session_ends_at)
        VALUES (${topUpId}, ${workspaceId}, 'automatic', ${mandateId}, ${currency}, ${netCents}, ${confirmedBy}, ${now},
          ${now}::TIMESTAMPTZ + make_interval(hours => ${ATTEMPTS_HOURS}::INTEGER))
        ON CONFLICT DO NOTHING`);
      if (started !== 1) return undefined;
      await writeAudit(tx, SYSTEM, {
        ...{ organizationId, actor: 'system', action: 'top_up.started', target: topUpId },
        after: { currency, net_cents: Number(netCents), mandate_id: mandateId },
      });
      await settleQueue.charge(tx, topUpId);
      return topUpId;
    });
  }

  /** Mails once in its period that a limit holds the automatic top-up back. */
  async #noticeLimit(
    tx: Tx,
    { workspaceId, rule, pause, now }: { workspaceId: string; rule: Rule; pause: Pause; now: Date },
  ): Promise<void> {
    if (!isLimit(pause.reason)) return;
    const period =
      pause.reason === 'day_limit' ? now.toISOString().slice(0, 10) : `${now.toISOString().slice(0, 7)}-01`;
    const isNew = await tx.$executeRaw(sql`
      INSERT INTO top_up_limit_notice (workspace_id, reason, period) VALUES (${workspaceId}, ${pause.reason}, ${period}::DATE)
      ON CONFLICT DO NOTHING`);
    if (isNew !== 1) return;
    const { organizationId } = rule;
    await mailPayers(tx, this.#options.outbox, organizationId, {
      template: 'automatic_top_up_limit',
      data: {
        path: toBillingPage({ organizationId, workspaceId }),
        amount: toMoneyText(rule.currency, rule.netCents),
        reason: pause.reason,
      },
    });
  }
}

/** Says that a rule is on, no hold is open, no automatic top-up is under way, and the balance is below the threshold. */
const isLow = (standing: Standing): standing is Standing & { rule: Rule } =>
  standing.rule !== undefined &&
  standing.rule.offReason === null &&
  !standing.hold &&
  standing.openTopUpId === null &&
  standing.balanceNanoUsd < standing.rule.thresholdNanoUsd;

const isLimit = (reason: Pause['reason']): reason is LimitReason => reason.endsWith('_limit');
