import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import type { Logger } from '@turnpike/logging/createLogger';
import { sql } from '@turnpike/postgres/sql';
import { ImageError } from '@turnpike/request-reading/images/imageError';
import { fromPrisma, type PgBoss } from 'pg-boss';
import type { Db, Tx } from '../database/openDatabase.ts';
import { NotOver, workEach } from '../jobs/workEach.ts';
import { signWebhook } from './signWebhook.ts';
import { postWebhook, type WebhookNetwork } from './webhookAddress.ts';

const QUEUE = 'alert_webhook';
/** Attempts of one delivery, the second after some 10 s, and each later one after twice as long. */
const MOST_ATTEMPTS = 12;
const RETRIES = { retryLimit: MOST_ATTEMPTS + 3, retryDelay: 10, retryBackoff: true, retryDelayMax: 7_200 };
const EXPIRE_S = 60;

interface DeliveryJob {
  delivery_id: string;
}

interface AlertWebhooksOptions {
  db: Db;
  boss: PgBoss;
  network: WebhookNetwork;
  log: Logger;
}

interface Delivery {
  url: string;
  attempts: number;
  currentUrl: string | null;
  secret: string | null;
  alertId: string;
  organizationId: string;
  workspaceId: string;
  region: string;
  kind: string;
  percent: number;
  limit: string;
  value: string;
  period: string;
  raisedAt: Date;
}

/** Webhooks about alerts. Each is delivered at least once, or given up after a number of attempts. */
export class AlertWebhooks {
  readonly #options: AlertWebhooksOptions;

  constructor(options: AlertWebhooksOptions) {
    this.#options = options;
  }

  /** Starts to deliver. */
  async start(): Promise<void> {
    const { boss, log } = this.#options;
    await boss.createQueue(QUEUE, { ...RETRIES, expireInSeconds: EXPIRE_S });
    const failing = 'a webhook about an alert cannot be delivered: it is tried again';
    await workEach<DeliveryJob>({ boss, log }, { queue: QUEUE, failing }, ({ delivery_id: id }) => this.#deliver(id));
  }

  /** Queues the delivery of an alert to an address, in the transaction of the alert. */
  async queue(tx: Tx, { alertId, url }: { alertId: string; url: string }): Promise<void> {
    const deliveryId = `delivery_${newUuidV7()}`;
    await tx.$executeRaw(sql`
      INSERT INTO alert_delivery (delivery_id, alert_id, url) VALUES (${deliveryId}, ${alertId}, ${url})`);
    const job: DeliveryJob = { delivery_id: deliveryId };
    await this.#options.boss.send(QUEUE, job, { db: fromPrisma(tx) });
  }

  async #deliver(deliveryId: string): Promise<void> {
    const { db } = this.#options;
    const [delivery] = await db.query(sql<Delivery>`
      SELECT url, attempts, webhook_url AS "currentUrl", webhook_secret AS secret, alert_id AS "alertId",
        organization_id AS "organizationId", workspace.workspace_id AS "workspaceId", region, kind, percent,
        limit_nano_usd::TEXT AS limit, value_nano_usd::TEXT AS value, period, raised_at AS "raisedAt"
      FROM alert_delivery JOIN alert USING (alert_id) JOIN workspace ON workspace.workspace_id = alert.workspace_id
      JOIN alert_rule ON alert_rule.workspace_id = alert.workspace_id
      WHERE delivery_id = ${deliveryId} AND state = 'waiting'`);
    if (!delivery) return;
    const { url, currentUrl, secret, attempts } = delivery;
    // Another address, or none, was set since.
    if (url !== currentUrl || secret === null) {
      await this.#note(deliveryId, { attempts: 0, state: 'given_up', error: 'webhook_changed' });
      return;
    }
    const { status, error } = await this.#post(deliveryId, { ...delivery, secret });
    const isDelivered = status !== undefined && status >= 200 && status < 300;
    const isLast = attempts + 1 >= MOST_ATTEMPTS;
    const state = isDelivered ? 'delivered' : isLast ? 'given_up' : 'waiting';
    await this.#note(deliveryId, { attempts: 1, state, status, error });
    if (state === 'waiting') throw new NotOver(`the webhook was not taken: ${status ?? error}`);
  }

  /** Posts a webhook. Returns the status of its answer, or why there is none. */
  async #post(
    deliveryId: string,
    { url, secret, ...alert }: Delivery & { secret: string },
  ): Promise<{ status?: number; error?: string }> {
    const body = JSON.stringify({
      type: 'alert.raised',
      timestamp: alert.raisedAt.toISOString(),
      data: {
        alert_id: alert.alertId,
        organization_id: alert.organizationId,
        workspace_id: alert.workspaceId,
        region: alert.region,
        kind: alert.kind,
        percent: alert.percent === 0 ? null : alert.percent,
        month: alert.kind === 'balance' ? null : alert.period,
        limit_nano_usd: alert.limit,
        value_nano_usd: alert.value,
      },
    });
    try {
      const headers = signWebhook({ id: deliveryId, body, secret }, new Date());
      return { status: await postWebhook(url, { headers, body }, this.#options.network) };
    } catch (error) {
      if (error instanceof ImageError) return { error: error.reason };
      if (error instanceof DOMException && error.name === 'TimeoutError') return { error: 'too_slow' };
      throw error;
    }
  }

  /** Adds attempts and writes their result in one statement, so that no reader sees an attempt without its result. */
  async #note(
    deliveryId: string,
    {
      attempts,
      state,
      status,
      error,
    }: { attempts: number; state: string; status?: number | undefined; error?: string | undefined },
  ): Promise<void> {
    await this.#options.db.execute(sql`
      UPDATE alert_delivery SET attempts = attempts + ${attempts}, state = ${state},
        last_status = ${status ?? null}, last_error = ${error ?? null},
        ended_at = CASE WHEN ${state} = 'waiting' THEN NULL ELSE now() END
      WHERE delivery_id = ${deliveryId} AND state = 'waiting'`);
  }
}
