import type { Region } from '@turnpike/config/region';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import type Stripe from 'stripe';
import { SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';
import { endHoldIn, openHoldIn } from '../holds/holds.ts';
import { post, type Transfer, walletOf } from '../ledger/post.ts';
import type { Currency } from './currencies.ts';
import { shareOf } from './refunds.ts';
import { type SettleDependencies, settleTopUp } from './settleTopUp.ts';

interface DisputedTopUp {
  topUpId: string;
  workspaceId: string;
  organizationId: string;
  region: Region;
  currency: Currency;
  netCents: bigint;
  taxCents: bigint;
  nanoUsd: bigint;
  /** Cents without tax that are refunded, or lost by other disputes. */
  goneCents: bigint;
}

interface Dispute {
  status: string;
  netCents: bigint | null;
  moves: number;
  holdId: string | null;
}

/** A bank's question before a dispute. It moves no money and holds no account. */
const isInquiry = (status: string): boolean => status.startsWith('warning_');
/** Nothing follows these by itself. */
const FINAL = new Set(['won', 'lost', 'prevented', 'warning_closed']);
/** These leave no reason for a hold. */
const CLEARED = new Set(['won', 'prevented', 'warning_closed']);

/**
 * Brings a dispute to the state that it has at the processor. Each movement of its money takes the share of the credit, or undoes exactly
 * that. A hold is open until the dispute is won. Does nothing for a payment of others. Webhooks, polls and the sweep call this; calls
 * at once, repeated ones and an older answer of the processor change nothing twice.
 */
export async function settleDispute({ db, payments, outbox }: SettleDependencies, disputeId: string): Promise<void> {
  const found = await payments.stripe.disputes.retrieve(disputeId, { expand: ['charge'] });
  const topUpId = await findTopUpId({ db, payments, outbox }, found);
  if (topUpId === undefined) return;
  await db.$transaction(async (tx) => {
    const topUp = await lockDisputed(tx, topUpId, disputeId);
    const dispute = await writeDispute(tx, topUpId, found);
    if (!dispute) return;
    const holdId = await holdAccount(tx, topUp, found, dispute);
    for (const [index, move] of found.balance_transactions.entries())
      if (index >= dispute.moves) await bookMove(tx, topUp, found, { number: index, cents: BigInt(move.amount) });
    await tx.$executeRaw(sql`
      UPDATE dispute SET status = ${found.status}, hold_id = ${holdId}, changed_at = now() WHERE dispute_id = ${found.id}`);
    if (dispute.status !== found.status)
      await writeAudit(tx, SYSTEM, {
        ...{ organizationId: topUp.organizationId, actor: 'system', action: 'dispute.changed', target: topUpId },
        after: { status: found.status, dispute_id: found.id },
      });
  });
}

/** Finds the top-up of a dispute, and settles it where its payment was not seen yet. */
async function findTopUpId(
  { db, payments, outbox }: SettleDependencies,
  { charge }: Stripe.Dispute,
): Promise<string | undefined> {
  const chargeId = typeof charge === 'string' ? charge : charge.id;
  const read = async () =>
    (await db.query(sql<{ id: string }>`SELECT top_up_id AS id FROM top_up WHERE charge_id = ${chargeId}`))[0]?.id;
  const known = await read();
  const named = typeof charge === 'string' ? undefined : charge.metadata?.top_up_id;
  if (known !== undefined || named === undefined) return known;
  const [row] = await db.query(sql`SELECT top_up_id FROM top_up WHERE top_up_id = ${named}`);
  if (!row) return undefined;
  await settleTopUp({ db, payments, outbox }, named);
  return read();
}

/** Locks a top-up, so that all that changes what is left of it takes turns. Its sums are read after that. */
async function lockDisputed(tx: Tx, topUpId: string, disputeId: string): Promise<DisputedTopUp> {
  await tx.$queryRaw(sql`SELECT 1 AS one FROM top_up WHERE top_up_id = ${topUpId} FOR NO KEY UPDATE`);
  const [topUp] = await tx.$queryRaw<DisputedTopUp[]>(sql`
    SELECT top_up_id AS "topUpId", workspace_id AS "workspaceId", organization_id AS "organizationId", region, currency,
      net_cents AS "netCents", tax_cents AS "taxCents", nano_usd AS "nanoUsd",
      (SELECT coalesce(sum(taken_cents), 0)::BIGINT FROM refund
        WHERE refund.top_up_id = top_up.top_up_id AND refund.state = 'refunded')
      + (SELECT coalesce(sum(dispute.net_cents), 0)::BIGINT FROM dispute
        WHERE dispute.top_up_id = top_up.top_up_id AND is_taken AND dispute_id <> ${disputeId}) AS "goneCents"
    FROM top_up JOIN workspace USING (workspace_id) WHERE top_up_id = ${topUpId}`);
  if (!topUp) throw new Error(`the top-up ${topUpId} of the dispute ${disputeId} is gone`);
  return topUp;
}

/** Returns a dispute as it is booked. Undefined if the processor's answer is older than the books. */
async function writeDispute(tx: Tx, topUpId: string, found: Stripe.Dispute): Promise<Dispute | undefined> {
  await tx.$executeRaw(sql`
    INSERT INTO dispute (dispute_id, top_up_id, status, reason, gross_cents, opened_at)
    VALUES (${found.id}, ${topUpId}, 'new', ${found.reason}, ${found.amount}, ${new Date(found.created * 1_000)})
    ON CONFLICT DO NOTHING`);
  const [dispute] = await tx.$queryRaw<Dispute[]>(sql`
    SELECT status, net_cents AS "netCents", moves, hold_id AS "holdId" FROM dispute WHERE dispute_id = ${found.id}`);
  if (!dispute) throw new Error(`the dispute ${found.id} is not written`);
  const moves = found.balance_transactions.length;
  const isOlder =
    moves < dispute.moves || (moves === dispute.moves && FINAL.has(dispute.status) && !FINAL.has(found.status));
  return isOlder ? undefined : dispute;
}

/** Holds the account once while a dispute is open or lost. Returns the id of the hold. An operator who ended it has decided. */
async function holdAccount(
  tx: Tx,
  { organizationId }: DisputedTopUp,
  { id, status }: Stripe.Dispute,
  { holdId }: Dispute,
): Promise<string | null> {
  if (holdId !== null) {
    if (CLEARED.has(status)) await endHoldIn(tx, { holdId, by: 'system' }, SYSTEM);
    return holdId;
  }
  if (isInquiry(status) || CLEARED.has(status)) return null;
  const hold = await openHoldIn(tx, { organizationId, reason: 'dispute', note: id, by: 'system' }, SYSTEM);
  return hold.hold_id;
}

/** Books a movement of disputed money: below zero it takes the share of the credit, above it gives exactly that back. */
async function bookMove(
  tx: Tx,
  topUp: DisputedTopUp,
  { id, amount }: Stripe.Dispute,
  { number, cents }: { number: number; cents: bigint },
): Promise<void> {
  const [booked] = await tx.$queryRaw<{ netCents: bigint | null; isTaken: boolean }[]>(sql`
    SELECT net_cents AS "netCents", is_taken AS "isTaken" FROM dispute WHERE dispute_id = ${id}`);
  const gross = BigInt(amount);
  const isTaking = cents < 0n;
  if (!booked || booked.isTaken === isTaking || (isTaking ? -cents : cents) !== gross)
    throw new Error(`the movement ${number} of the dispute ${id} is not foreseen`);
  const net =
    booked.netCents ??
    min(shareOf(topUp.netCents, gross, topUp.netCents + topUp.taxCents), topUp.netCents - topUp.goneCents);
  const step = `${id}_${number}`;
  await post(tx, step, listTransfers(topUp, { step, net, loss: gross - net, isTaking }));
  await tx.$executeRaw(sql`
    UPDATE dispute SET net_cents = ${net}, is_taken = ${isTaking}, moves = ${number + 1} WHERE dispute_id = ${id}`);
  const nanoUsd = net * (topUp.nanoUsd / topUp.netCents);
  if (nanoUsd === 0n) return;
  await tell(tx, topUp.region, {
    ...{ kind: 'credit', credit_id: step, workspace_id: topUp.workspaceId },
    ...{ nano_usd: String(isTaking ? -nanoUsd : nanoUsd), note: isTaking ? 'payment disputed' : 'dispute won' },
  });
}

/** Tax of a disputed payment stays due, so it is a loss until the dispute is won. */
function listTransfers(
  { workspaceId, currency, netCents, nanoUsd }: DisputedTopUp,
  { step, net, loss, isTaking }: { step: string; net: bigint; loss: bigint; isTaking: boolean },
): Transfer[] {
  const unit = `${currency}_cent` as const;
  const way = (debit: string, credit: string) => (isTaking ? { debit, credit } : { debit: credit, credit: debit });
  const transfers: Transfer[] = [
    { id: `${step}:net`, unit, ...way('fx_bridge', 'psp_clearing'), amount: net, code: isTaking ? 'net_back' : 'net' },
    {
      id: `${step}:loss`,
      unit,
      ...way('dispute_loss', 'psp_clearing'),
      amount: loss,
      code: isTaking ? 'loss' : 'loss_back',
    },
    {
      ...{ id: `${step}:credit`, unit: 'nano_usd', amount: net * (nanoUsd / netCents) },
      ...{ ...way(walletOf(workspaceId), 'fx_bridge'), code: isTaking ? 'taken_back' : 'given_back' },
    },
  ];
  return transfers.filter(({ amount }) => amount > 0n);
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

interface ListedDispute {
  disputeId: string;
  topUpId: string;
  workspaceId: string;
  organizationId: string;
  status: string;
  reason: string;
  currency: Currency;
  grossCents: bigint;
  takenNanoUsd: string;
  holdId: string | null;
  openedAt: Date;
  changedAt: Date;
}

/** Lists disputes of all workspaces, 500 a page, by their ids. */
export async function listDisputes(db: Db, after: string) {
  const rows = await db.query(sql<ListedDispute>`
    SELECT dispute_id AS "disputeId", top_up_id AS "topUpId", workspace_id AS "workspaceId", organization_id AS "organizationId",
      dispute.status, reason, currency, gross_cents AS "grossCents",
      (CASE WHEN is_taken THEN dispute.net_cents * (nano_usd / top_up.net_cents) ELSE 0 END)::TEXT AS "takenNanoUsd",
      hold_id AS "holdId", opened_at AS "openedAt", changed_at AS "changedAt"
    FROM dispute JOIN top_up USING (top_up_id) JOIN workspace USING (workspace_id)
    WHERE dispute_id > ${after} ORDER BY dispute_id LIMIT ${PAGE_SIZE}`);
  return {
    disputes: rows.map((row) => ({
      dispute_id: row.disputeId,
      top_up_id: row.topUpId,
      workspace_id: row.workspaceId,
      organization_id: row.organizationId,
      status: row.status,
      reason: row.reason,
      currency: row.currency,
      gross_cents: Number(row.grossCents),
      taken_nano_usd: row.takenNanoUsd,
      hold_id: row.holdId,
      opened_at: row.openedAt.toISOString(),
      changed_at: row.changedAt.toISOString(),
    })),
    next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.disputeId ?? null),
  };
}
