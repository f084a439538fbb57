import { sql } from '@turnpike/postgres/sql';
import type { Db, Tx } from '../database/openDatabase.ts';
import { findOfferedRate } from '../rates/rates.ts';
import { type Currency, toNanoUsd } from './currencies.ts';
import { DECLINE_DAYS } from './failedTopUps.ts';

/**
 * The most that automatic top-ups of an organization are in a month, in each currency, unless the operator raised it. An organization has
 * one workspace in each currency.
 */
export const ACCOUNT_MONTH_LIMIT_CENTS = 500_000n;
const HOUR_MS = 3_600_000;

/** The terms of an automatic top-up that were confirmed last. */
export interface Rule {
  organizationId: string;
  mandateId: string;
  currency: Currency;
  offReason: 'member' | 'declines' | 'card_gone' | null;
  thresholdNanoUsd: bigint;
  netCents: bigint;
  dayLimitCents: bigint;
  monthLimitCents: bigint;
  cardId: string;
  cardBrand: string;
  cardLast4: string;
  cardExpires: string;
  confirmedText: string;
  confirmedBy: string;
  confirmedAt: Date;
}

export type LimitReason = 'day_limit' | 'month_limit' | 'account_limit';
export interface Pause {
  reason: 'decline' | 'euro_rate_missing' | LimitReason;
  /** Undefined: until a rate is there. */
  until: Date | undefined;
}

/** All that decides whether an automatic top-up charges a card now. */
export interface Standing {
  rule: Rule | undefined;
  hold: boolean;
  /** The balance with the payments that are on their way. */
  balanceNanoUsd: bigint;
  openTopUpId: string | null;
  /** Automatic top-ups that were charged in the UTC day and month or are under way, without tax. */
  dayCents: bigint;
  monthCents: bigint;
  accountLimitCents: bigint;
  pause: Pause | undefined;
}

interface Sums {
  hold: boolean;
  balance: string;
  openTopUpId: string | null;
  processingCents: string;
  dayCents: string;
  monthCents: string;
  accountLimitCents: bigint | null;
  declines: number;
  declinedAt: Date | null;
}

/** Reads the standing of a workspace's automatic top-up. */
export async function findStanding(db: Pick<Db, '$queryRaw'> | Tx, workspaceId: string, now: Date): Promise<Standing> {
  const [rule] = await db.$queryRaw<Rule[]>(sql`
    SELECT organization_id AS "organizationId", mandate.mandate_id AS "mandateId", currency, off_reason AS "offReason",
      threshold_nano_usd AS "thresholdNanoUsd", net_cents AS "netCents", day_limit_cents AS "dayLimitCents",
      month_limit_cents AS "monthLimitCents", card_id AS "cardId", card_brand AS "cardBrand", card_last4 AS "cardLast4",
      card_expires AS "cardExpires", confirmed_text AS "confirmedText", confirmed_by AS "confirmedBy", confirmed_at AS "confirmedAt"
    FROM top_up_rule AS rule JOIN top_up_mandate AS mandate USING (mandate_id)
    JOIN workspace ON workspace.workspace_id = rule.workspace_id
    WHERE rule.workspace_id = ${workspaceId}`);
  const day = new Date(now.toISOString().slice(0, 10));
  const month = new Date(`${now.toISOString().slice(0, 7)}-01`);
  // A decline holds back until a later payment of any kind.
  const [sums] = await db.$queryRaw<Sums[]>(sql`
    SELECT
      EXISTS (SELECT FROM account_hold WHERE account_hold.organization_id = own.organization_id AND ended_at IS NULL) AS hold,
      (SELECT credited_nano_usd - spent_nano_usd FROM wallet WHERE wallet.workspace_id = own.workspace_id)::TEXT AS balance,
      (SELECT top_up_id FROM top_up WHERE top_up.workspace_id = own.workspace_id AND kind = 'automatic'
        AND state IN ('created', 'open', 'processing', 'wants_cardholder')) AS "openTopUpId",
      (SELECT coalesce(sum(net_cents), 0) FROM top_up
        WHERE top_up.workspace_id = own.workspace_id AND state = 'processing')::TEXT AS "processingCents",
      (SELECT coalesce(sum(net_cents), 0) FROM top_up WHERE top_up.workspace_id = own.workspace_id AND kind = 'automatic'
        AND state NOT IN ('declined', 'expired') AND coalesce(charged_at, ${now}) >= ${day})::TEXT AS "dayCents",
      (SELECT coalesce(sum(net_cents), 0) FROM top_up WHERE top_up.workspace_id = own.workspace_id AND kind = 'automatic'
        AND state NOT IN ('declined', 'expired') AND coalesce(charged_at, ${now}) >= ${month})::TEXT AS "monthCents",
      (SELECT automatic_month_limit_cents FROM billing_account
        WHERE billing_account.organization_id = own.organization_id) AS "accountLimitCents",
      (SELECT count(*) FROM top_up WHERE ${isCountedDecline(now)})::INTEGER AS declines,
      (SELECT max(failed_at) FROM top_up WHERE ${isCountedDecline(now)}) AS "declinedAt"
    FROM workspace AS own WHERE own.workspace_id = ${workspaceId}`);
  if (!sums) throw new Error(`there is no workspace ${workspaceId}`);
  const rate = rule?.currency === 'eur' ? await findOfferedRate(db as Db, now) : undefined;
  const isRateMissing = rule?.currency === 'eur' && !rate;
  const processing =
    rule && !isRateMissing ? toNanoUsd(rule.currency, BigInt(sums.processingCents), rate?.rateE4 ?? null) : 0n;
  const accountLimitCents = sums.accountLimitCents ?? ACCOUNT_MONTH_LIMIT_CENTS;
  return {
    rule,
    hold: sums.hold,
    balanceNanoUsd: BigInt(sums.balance) + processing,
    openTopUpId: sums.openTopUpId,
    dayCents: BigInt(sums.dayCents),
    monthCents: BigInt(sums.monthCents),
    accountLimitCents,
    pause: rule && toPause(rule, { ...sums, accountLimitCents }, { day, month, now, isRateMissing }),
  };
}

/** Declines since the last confirmation and the last payment. */
const isCountedDecline = (now: Date) => sql`
  top_up.workspace_id = own.workspace_id AND kind = 'automatic' AND state = 'declined'
  AND failed_at > ${now}::TIMESTAMPTZ - make_interval(days => ${DECLINE_DAYS}::INTEGER)
  AND created_at >= coalesce((
    SELECT confirmed_at FROM top_up_rule JOIN top_up_mandate USING (mandate_id) WHERE top_up_rule.workspace_id = own.workspace_id
  ), '-infinity')
  AND failed_at > coalesce((SELECT max(charged_at) FROM top_up AS paid WHERE paid.workspace_id = own.workspace_id), '-infinity')`;

/** An hour after the first decline, and twice as long after each further one. */
const toPauseEnd = (declinedAt: Date, declines: number): Date =>
  new Date(declinedAt.getTime() + HOUR_MS * 2 ** (declines - 1));

function toPause(
  { netCents, dayLimitCents, monthLimitCents }: Rule,
  { declines, declinedAt, dayCents, monthCents, accountLimitCents }: Sums & { accountLimitCents: bigint },
  { day, month, now, isRateMissing }: { day: Date; month: Date; now: Date; isRateMissing: boolean },
): Pause | undefined {
  const nextDay = new Date(day.getTime() + 24 * HOUR_MS);
  const nextMonth = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1));
  if (BigInt(monthCents) + netCents > accountLimitCents) return { reason: 'account_limit', until: nextMonth };
  if (BigInt(monthCents) + netCents > monthLimitCents) return { reason: 'month_limit', until: nextMonth };
  if (BigInt(dayCents) + netCents > dayLimitCents) return { reason: 'day_limit', until: nextDay };
  if (declinedAt !== null) {
    const until = toPauseEnd(declinedAt, declines);
    if (until > now) return { reason: 'decline', until };
  }
  return isRateMissing ? { reason: 'euro_rate_missing', until: undefined } : undefined;
}
