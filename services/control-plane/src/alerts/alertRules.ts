import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { ImageError } from '@turnpike/request-reading/images/imageError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { toNanoText } from '../organizations/workspaces.ts';
import { newWebhookSecret } from './signWebhook.ts';
import { parseWebhookUrl } from './webhookAddress.ts';

interface OfWorkspace {
  organizationId: string;
  workspaceId: string;
}
type OfMember = OfWorkspace & { userId: string };

const PAGE = 100;

interface RuleRow {
  budget: bigint | null;
  below: bigint | null;
  isMailed: boolean;
  url: string | null;
  setAt: Date | null;
}

/** Refuses a workspace of another organization with `unknown_workspace`. */
async function requireWorkspace(db: Db | Tx, { organizationId, workspaceId }: OfWorkspace): Promise<void> {
  const workspace = await db.workspace.findUnique({ where: { workspaceId, organizationId } });
  if (!workspace) throw new ApiError({ kind: 'unknown_workspace' });
}

/** Shows when a workspace alerts, and how. Throws `unknown_workspace`. */
export async function getAlerts(db: Db, where: OfWorkspace) {
  await requireWorkspace(db, where);
  const [rule] = await db.query(sql<RuleRow>`
    SELECT budget_nano_usd AS budget, balance_below_nano_usd AS below, is_mailed AS "isMailed", webhook_url AS url,
      webhook_set_at AS "setAt"
    FROM alert_rule WHERE workspace_id = ${where.workspaceId}`);
  return {
    budget_nano_usd: toNanoText(rule?.budget ?? null),
    balance_below_nano_usd: toNanoText(rule?.below ?? null),
    is_mailed: rule?.isMailed ?? false,
    webhook: rule?.url && rule.setAt ? { url: rule.url, set_at: rule.setAt.toISOString() } : null,
  };
}

interface AlertTerms {
  budgetNanoUsd: bigint | null;
  balanceBelowNanoUsd: bigint | null;
  isMailed: boolean;
}

/** Sets when a workspace alerts and whether by mail. Throws `unknown_workspace`. */
export async function setAlerts(
  db: Db,
  where: OfMember,
  { budgetNanoUsd, balanceBelowNanoUsd, isMailed }: AlertTerms,
  origin: Origin,
) {
  const { organizationId, workspaceId, userId } = where;
  await db.$transaction(async (tx) => {
    await requireWorkspace(tx, where);
    await tx.$executeRaw(sql`
      INSERT INTO alert_rule (workspace_id, budget_nano_usd, balance_below_nano_usd, is_mailed)
      VALUES (${workspaceId}, ${budgetNanoUsd}, ${balanceBelowNanoUsd}, ${isMailed})
      ON CONFLICT (workspace_id) DO UPDATE SET budget_nano_usd = excluded.budget_nano_usd,
        balance_below_nano_usd = excluded.balance_below_nano_usd, is_mailed = excluded.is_mailed`);
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: userId, action: 'alerts.changed', target: workspaceId },
      after: {
        budget_nano_usd: toNanoText(budgetNanoUsd),
        balance_below_nano_usd: toNanoText(balanceBelowNanoUsd),
        is_mailed: isMailed,
      },
    });
  });
  return getAlerts(db, where);
}

/**
 * Sets the address to which alerts are posted, with a new secret that signs them. The answer alone shows the secret. Throws
 * `unknown_workspace` or `webhook_url_refused`.
 */
export async function setAlertWebhook(
  { db, webhookPrivateHosts }: { db: Db; webhookPrivateHosts: ReadonlySet<string> },
  where: OfMember,
  address: string,
  origin: Origin,
) {
  const { organizationId, workspaceId, userId } = where;
  const url = toWebhookUrl(address, webhookPrivateHosts);
  const secret = newWebhookSecret();
  await db.$transaction(async (tx) => {
    await requireWorkspace(tx, where);
    await tx.$executeRaw(sql`
      INSERT INTO alert_rule (workspace_id, is_mailed, webhook_url, webhook_secret, webhook_set_at)
      VALUES (${workspaceId}, false, ${url}, ${secret}, now())
      ON CONFLICT (workspace_id) DO UPDATE SET webhook_url = excluded.webhook_url,
        webhook_secret = excluded.webhook_secret, webhook_set_at = excluded.webhook_set_at`);
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: userId, action: 'alert_webhook.set', target: workspaceId, after: { url } },
    });
  });
  return { ...(await getAlerts(db, where)), secret };
}

function toWebhookUrl(address: string, privateHosts: ReadonlySet<string>): string {
  try {
    return parseWebhookUrl(address, privateHosts).href;
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ApiError({ kind: 'webhook_url_refused' }, { cause: error });
  }
}

/** Ends the webhook of a workspace. Deliveries under way are given up. Throws `unknown_workspace`. */
export async function removeAlertWebhook(db: Db, where: OfMember, origin: Origin) {
  const { organizationId, workspaceId, userId } = where;
  await db.$transaction(async (tx) => {
    await requireWorkspace(tx, where);
    const removed = await tx.$executeRaw(sql`
      UPDATE alert_rule SET webhook_url = NULL, webhook_secret = NULL, webhook_set_at = NULL
      WHERE workspace_id = ${workspaceId} AND webhook_url IS NOT NULL`);
    if (removed === 1)
      await writeAudit(tx, origin, {
        ...{ organizationId, actor: userId, action: 'alert_webhook.removed', target: workspaceId },
      });
  });
  return getAlerts(db, where);
}

interface AlertRow {
  alertId: string;
  kind: 'budget' | 'cap' | 'balance';
  percent: number;
  period: string;
  limit: string;
  value: string;
  raisedAt: Date;
  deliveryId: string | null;
  url: string | null;
  state: 'waiting' | 'delivered' | 'given_up' | null;
  attempts: number | null;
  lastStatus: number | null;
  lastError: string | null;
  endedAt: Date | null;
}

/** Lists the raised alerts of a workspace with their deliveries, the newest first, 100 a page. Throws `unknown_workspace`. */
export async function listAlerts(db: Db, where: OfWorkspace, before: string | undefined) {
  await requireWorkspace(db, where);
  const rows = await db.query(sql<AlertRow>`
    SELECT alert_id AS "alertId", kind, percent, period, limit_nano_usd::TEXT AS limit, value_nano_usd::TEXT AS value, raised_at AS "raisedAt",
      delivery_id AS "deliveryId", url, state, attempts, last_status AS "lastStatus", last_error AS "lastError", ended_at AS "endedAt"
    FROM alert LEFT JOIN alert_delivery USING (alert_id)
    WHERE workspace_id = ${where.workspaceId} AND alert_id < ${before ?? 'alert_~'}
    ORDER BY alert_id DESC LIMIT ${PAGE + 1}`);
  const alerts = rows.slice(0, PAGE).map((row) => ({
    alert_id: row.alertId,
    kind: row.kind,
    percent: row.percent === 0 ? null : row.percent,
    month: row.kind === 'balance' ? null : row.period,
    limit_nano_usd: row.limit,
    value_nano_usd: row.value,
    raised_at: row.raisedAt.toISOString(),
    delivery:
      row.deliveryId !== null && row.url !== null && row.state !== null
        ? {
            ...{ delivery_id: row.deliveryId, url: row.url, state: row.state, attempts: row.attempts ?? 0 },
            ...{ last_status: row.lastStatus, last_error: row.lastError, ended_at: row.endedAt?.toISOString() ?? null },
          }
        : null,
  }));
  return { alerts, next: rows.length > PAGE ? (alerts.at(-1)?.alert_id ?? null) : null };
}
