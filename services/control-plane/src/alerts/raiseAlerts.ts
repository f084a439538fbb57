import { PAGES } from '@turnpike/console-api/pages';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabase.ts';
import type { Outbox } from '../mail/outbox.ts';
import { mailPayers } from '../organizations/mailPayers.ts';
import type { AlertWebhooks } from './alertWebhooks.ts';
import { listReached, type Reached } from './listReached.ts';

interface Watched {
  organizationId: string;
  name: string;
  budget: bigint | null;
  cap: bigint | null;
  below: bigint | null;
  isMailed: boolean;
  webhookUrl: string | null;
  credits: number;
  balance: string;
}

/** Spend of the month before counts if it was reported within this time, because a month's last minutes are reported in the next. */
const LATE_MINUTES = 10;

/**
 * Raises the alerts of a workspace whose thresholds are reached, each once in its period, with their mails and webhooks in the same
 * transaction. Raises none of a workspace without alerts. Returns how many were raised.
 */
export async function raiseAlerts(
  { db, outbox, alertWebhooks }: { db: Db; outbox: Outbox; alertWebhooks: AlertWebhooks },
  workspaceId: string,
  now: Date,
): Promise<number> {
  const month = now.toISOString().slice(0, 7);
  const [watched] = await db.query(sql<Watched>`
    SELECT organization_id AS "organizationId", name, budget_nano_usd AS budget, monthly_cap_nano_usd AS cap,
      balance_below_nano_usd AS below, is_mailed AS "isMailed", webhook_url AS "webhookUrl",
      (SELECT count(*) FROM transfer
        WHERE credit = 'wallet:' || rule.workspace_id AND unit = 'nano_usd' AND code <> 'used_less')::INTEGER AS credits,
      (credited_nano_usd - spent_nano_usd)::TEXT AS balance
    FROM alert_rule AS rule JOIN workspace USING (workspace_id) JOIN wallet USING (workspace_id)
    WHERE workspace_id = ${workspaceId}`);
  if (!watched) return 0;
  const spends = await db.query(sql<{ month: string; spend: string }>`
    SELECT to_char(day, 'YYYY-MM') AS month, sum(spend_nano_usd)::TEXT AS spend FROM day_spend
    WHERE workspace_id = ${workspaceId} AND day >= ${`${month}-01`}::DATE - interval '1 month'
    GROUP BY 1
    HAVING to_char(min(day), 'YYYY-MM') = ${month} OR max(changed_at) > now() - make_interval(mins => ${LATE_MINUTES}::INTEGER)`);
  const reached = listReached({
    spends: spends.map(({ month: each, spend }) => ({ month: each, nanoUsd: BigInt(spend) })),
    credits: watched.credits,
    balanceNanoUsd: BigInt(watched.balance),
    budgetNanoUsd: watched.budget,
    capNanoUsd: watched.cap,
    balanceBelowNanoUsd: watched.below,
  });
  if (reached.length === 0) return 0;
  const { organizationId, name, isMailed, webhookUrl } = watched;
  return db.$transaction(async (tx) => {
    let raised = 0;
    for (const each of reached) {
      const { kind, percent, limitNanoUsd, valueNanoUsd, period } = each;
      const alertId = `alert_${newUuidV7()}`;
      const isNew = await tx.$executeRaw(sql`
        INSERT INTO alert (alert_id, workspace_id, kind, percent, limit_nano_usd, value_nano_usd, period)
        VALUES (${alertId}, ${workspaceId}, ${kind}, ${percent}, ${limitNanoUsd}, ${valueNanoUsd}, ${period})
        ON CONFLICT DO NOTHING`);
      if (isNew !== 1) continue;
      raised += 1;
      if (isMailed)
        await mailPayers(tx, outbox, organizationId, {
          template: 'alert',
          data: {
            path: PAGES.alerts.replace('$organizationId', organizationId).replace('$workspaceId', workspaceId),
            what: toText(each, month),
            workspace: name,
          },
        });
      if (webhookUrl !== null) await alertWebhooks.queue(tx, { alertId, url: webhookUrl });
    }
    return raised;
  });
}

/** An alert as a subject of a mail says it. A spend of another month than `month` names its own. */
function toText({ kind, percent, limitNanoUsd, valueNanoUsd, period }: Reached, month: string): string {
  if (kind === 'balance') return `balance of ${toUsdText(valueNanoUsd)} is below ${toUsdText(limitNanoUsd)}`;
  const name = kind === 'cap' ? 'monthly cap' : 'budget';
  const ofMonth = period === month ? '' : ` for ${period}`;
  return `${percent} % of the ${name} of ${toUsdText(limitNanoUsd)}${ofMonth} is spent`;
}

const NANO_PER_CENT = 10_000_000n;

/** `12510000000n` is `USD 12.51`. A part of a cent is cut off. */
function toUsdText(nanoUsd: bigint): string {
  const cents = (nanoUsd < 0n ? -nanoUsd : nanoUsd) / NANO_PER_CENT;
  return `USD ${nanoUsd < 0n ? '-' : ''}${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}
