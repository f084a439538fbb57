import { sql } from '@turnpike/postgres/sql';
import { SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Tx } from '../database/openDatabase.ts';
import type { Outbox } from '../mail/outbox.ts';
import { mailPayers } from '../organizations/mailPayers.ts';
import { toBillingPage } from './billingPage.ts';
import { CARD_GONE } from './chargeAutomatically.ts';
import { type Currency, toMoneyText } from './currencies.ts';

/** Declines within `DECLINE_DAYS` after which an automatic top-up is switched off. */
const MOST_DECLINES = 4;
export const DECLINE_DAYS = 7;
/** A person may pay on the processor's page for so long. */
const CARDHOLDER_DAYS = 3;

interface FailedTopUp {
  topUpId: string;
  workspaceId: string;
  organizationId: string;
  /** Null of one that was no automatic one. */
  mandateId: string | null;
  currency: Currency;
  netCents: bigint;
}

/** An outcome of an automatic top-up in which no money came. */
interface Failure {
  state: string;
  code?: string;
  paymentUrl?: string;
}

/**
 * Stores that an automatic top-up was not paid, with its mail, in one transaction. A decline may switch the automatic top-up off, unless
 * other terms were confirmed since. The caller has locked the row.
 */
export async function recordFailure(
  { tx, outbox }: { tx: Tx; outbox: Outbox },
  topUp: FailedTopUp,
  { state, code, paymentUrl }: Failure,
): Promise<void> {
  const { topUpId, workspaceId, organizationId, mandateId, currency, netCents } = topUp;
  const path = toBillingPage(topUp);
  const amount = toMoneyText(currency, netCents);
  if (state === 'wants_cardholder') {
    await tx.$executeRaw(sql`
      UPDATE top_up SET state = 'wants_cardholder', payment_url = ${paymentUrl ?? ''},
        session_ends_at = now() + make_interval(days => ${CARDHOLDER_DAYS}::INTEGER)
      WHERE top_up_id = ${topUpId}`);
    await writeAudit(tx, SYSTEM, {
      ...{ organizationId, actor: 'system', action: 'top_up.wants_cardholder', target: topUpId },
    });
    const days = String(CARDHOLDER_DAYS);
    await mailPayers(tx, outbox, organizationId, { template: 'wants_cardholder', data: { path, amount, days } });
    return;
  }
  if (state !== 'declined') {
    await tx.$executeRaw(sql`UPDATE top_up SET state = ${state} WHERE top_up_id = ${topUpId}`);
    return;
  }
  const reason = code ?? 'declined';
  await tx.$executeRaw(sql`
    UPDATE top_up SET state = 'declined', failure_code = ${reason}, failed_at = now() WHERE top_up_id = ${topUpId}`);
  await writeAudit(tx, SYSTEM, {
    ...{ organizationId, actor: 'system', action: 'top_up.declined', target: topUpId, after: { reason } },
  });
  const [declines] = await tx.$queryRaw<{ count: number }[]>(sql`
    SELECT count(*)::INTEGER AS count FROM top_up
    JOIN top_up_rule AS rule ON rule.workspace_id = top_up.workspace_id
    JOIN top_up_mandate AS mandate ON mandate.mandate_id = rule.mandate_id
    WHERE top_up.workspace_id = ${workspaceId} AND kind = 'automatic' AND state = 'declined'
      AND created_at >= confirmed_at AND failed_at > now() - make_interval(days => ${DECLINE_DAYS}::INTEGER)`);
  const isOver = reason === CARD_GONE || (declines?.count ?? 0) >= MOST_DECLINES;
  const offReason = reason === CARD_GONE ? 'card_gone' : 'declines';
  const isSwitchedOff =
    isOver && (await switchOff(tx, { workspaceId, organizationId, mandateId, actor: 'system', offReason }));
  await mailPayers(tx, outbox, organizationId, {
    template: isSwitchedOff ? 'automatic_top_up_off' : 'automatic_top_up_declined',
    data: { path, amount, reason },
  });
}

/** Switches an automatic top-up off and writes it into the audit, with a mandate only that of the mandate. Says whether it was on. */
export async function switchOff(
  tx: Tx,
  {
    workspaceId,
    organizationId,
    mandateId = null,
    actor,
    offReason,
  }: Pick<FailedTopUp, 'workspaceId' | 'organizationId'> & {
    mandateId?: string | null;
    actor: string;
    offReason: 'member' | 'declines' | 'card_gone';
  },
  origin = SYSTEM,
): Promise<boolean> {
  const changed = await tx.$executeRaw(sql`
    UPDATE top_up_rule SET off_reason = ${offReason}, off_at = now()
    WHERE workspace_id = ${workspaceId} AND off_reason IS NULL AND mandate_id = coalesce(${mandateId}, mandate_id)`);
  if (changed !== 1) return false;
  await writeAudit(tx, origin, {
    ...{ organizationId, actor, action: 'automatic_top_up.switched_off', target: workspaceId },
    after: { reason: offReason },
  });
  return true;
}
