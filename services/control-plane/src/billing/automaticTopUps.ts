import { toMandateText } from '@turnpike/console-api/mandateText';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { isOnHold, lockOrganization } from '../organizations/workspaces.ts';
import type { BalanceWatch } from './balanceWatch.ts';
import { CURRENCY_OF } from './currencies.ts';
import { switchOff } from './failedTopUps.ts';
import { findCard } from './savedCards.ts';
import { findStanding } from './standing.ts';
import { type BillingDependencies, checkAmount, getRegion, getTopUp, type OfWorkspace } from './topUps.ts';

export interface AutomaticDependencies extends Pick<BillingDependencies, 'db' | 'payments'> {
  balanceWatch: BalanceWatch;
}

/** Shows the automatic top-up of a workspace. Throws `unknown_workspace`. */
export async function getAutomaticTopUp(db: Db, where: OfWorkspace, now = new Date()) {
  const currency = CURRENCY_OF[await getRegion(db, where)];
  const standing = await findStanding(db, where.workspaceId, now);
  const { rule, openTopUpId, hold } = standing;
  const isOn = rule !== undefined && rule.offReason === null;
  const openTopUp = openTopUpId === null ? null : await getTopUp(db, openTopUpId);
  const pause = isOn ? standing.pause : undefined;
  return {
    state: toState({
      isOn,
      isHeld: hold,
      waits: openTopUp?.state === 'wants_cardholder',
      isPaused: pause !== undefined,
    }),
    off_reason: rule?.offReason ?? null,
    pause_reason: pause?.reason ?? null,
    paused_until: pause?.until?.toISOString() ?? null,
    currency,
    threshold_nano_usd: rule ? String(rule.thresholdNanoUsd) : null,
    net_cents: rule ? Number(rule.netCents) : null,
    day_limit_cents: rule ? Number(rule.dayLimitCents) : null,
    month_limit_cents: rule ? Number(rule.monthLimitCents) : null,
    card: rule
      ? { card_id: rule.cardId, brand: rule.cardBrand, last4: rule.cardLast4, expires: rule.cardExpires }
      : null,
    confirmed: rule ? { by: rule.confirmedBy, at: rule.confirmedAt.toISOString(), text: rule.confirmedText } : null,
    charged_day_cents: Number(standing.dayCents),
    charged_month_cents: Number(standing.monthCents),
    account_month_limit_cents: Number(standing.accountLimitCents),
    open_top_up: openTopUp,
  };
}

function toState({
  isOn,
  isHeld,
  waits,
  isPaused,
}: {
  isOn: boolean;
  isHeld: boolean;
  waits: boolean;
  isPaused: boolean;
}) {
  if (!isOn) return 'off' as const;
  if (isHeld) return 'on_hold' as const;
  if (waits) return 'wants_cardholder' as const;
  return isPaused ? ('paused' as const) : ('on' as const);
}

interface Terms {
  cardId: string;
  thresholdNanoUsd: bigint;
  netCents: number;
  dayLimitCents: number;
  monthLimitCents: number;
  confirmedText: string;
}

/**
 * Switches an automatic top-up on by the text that a person confirmed, which is kept with its time. Throws `unknown_workspace`,
 * `billing_not_provisioned`, `amount_out_of_range`, `limit_too_low`, `payments_away`, `unknown_card`, `confirmation_differs` or
 * `organization_on_hold`, and then changes nothing.
 */
export async function setAutomaticTopUp(
  { db, payments, balanceWatch }: AutomaticDependencies,
  where: OfWorkspace & { userId: string },
  terms: Terms,
  origin: Origin,
) {
  const { organizationId, workspaceId, userId } = where;
  const currency = CURRENCY_OF[await getRegion(db, where)];
  if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
  const { netCents, dayLimitCents, monthLimitCents, thresholdNanoUsd, confirmedText } = terms;
  checkAmount(currency, netCents);
  if (dayLimitCents < netCents || monthLimitCents < netCents) throw new ApiError({ kind: 'limit_too_low' });
  const card = await findCard({ db, payments }, organizationId, terms.cardId);
  if (!card) throw new ApiError({ kind: 'unknown_card' });
  if (confirmedText !== toMandateText({ currency, netCents, thresholdNanoUsd, dayLimitCents, monthLimitCents, card }))
    throw new ApiError({ kind: 'confirmation_differs' });

  await db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    if (await isOnHold(tx, organizationId)) throw new ApiError({ kind: 'organization_on_hold' });
    const mandateId = `mandate_${newUuidV7()}`;
    await tx.$executeRaw(sql`
      INSERT INTO top_up_mandate (mandate_id, workspace_id, currency, threshold_nano_usd, net_cents, day_limit_cents,
        month_limit_cents, card_id, card_brand, card_last4, card_expires, confirmed_text, confirmed_by)
      VALUES (${mandateId}, ${workspaceId}, ${currency}, ${thresholdNanoUsd}, ${netCents}, ${dayLimitCents}, ${monthLimitCents},
        ${card.card_id}, ${card.brand}, ${card.last4}, ${card.expires}, ${confirmedText}, ${userId})`);
    await tx.$executeRaw(sql`
      INSERT INTO top_up_rule (workspace_id, mandate_id) VALUES (${workspaceId}, ${mandateId})
      ON CONFLICT (workspace_id) DO UPDATE SET mandate_id = excluded.mandate_id, off_reason = NULL, off_at = NULL`);
    await writeAudit(tx, origin, {
      ...{ organizationId, actor: userId, action: 'automatic_top_up.switched_on', target: workspaceId },
      after: { mandate_id: mandateId, text: confirmedText },
    });
  });
  await balanceWatch.queueLook(workspaceId);
  return getAutomaticTopUp(db, where);
}

/** Switches an automatic top-up off. Changes nothing of one that is off. Throws `unknown_workspace`. */
export async function endAutomaticTopUp(db: Db, where: OfWorkspace & { userId: string }, origin: Origin) {
  await getRegion(db, where);
  const { userId: actor } = where;
  await db.$transaction((tx: Tx) => switchOff(tx, { ...where, actor, offReason: 'member' }, origin));
  return getAutomaticTopUp(db, where);
}
