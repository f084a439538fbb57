import type { Region } from '@turnpike/config/region';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import Stripe from 'stripe';
import { type Origin, SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';
import { post, type Transfer, walletOf } from '../ledger/post.ts';
import type { Currency } from './currencies.ts';
import type { Payments } from './paymentProcessor.ts';
import type { TopUpState } from './topUpStates.ts';

/** The states of a refund, each with the states that may follow it. */
const TRANSITIONS = {
  /** The region has not reported what it took. */
  taking: ['taken', 'nothing_taken'],
  /** All credit of the top-up is spent. */
  nothing_taken: [],
  /** The credit is back, and the money is not. */
  taken: ['refunded', 'refused'],
  /** The processor made no credit note, and the credit was given back. */
  refused: [],
  refunded: ['failed'],
  /** The bank of the customer did not take the money, and the credit was given back. */
  failed: [],
} as const satisfies Record<string, readonly string[]>;
export type RefundState = keyof typeof TRANSITIONS;

const mayFollowRefund = (from: RefundState, to: RefundState): boolean =>
  (TRANSITIONS[from] as readonly RefundState[]).includes(to);

interface Refund {
  refundId: string;
  topUpId: string;
  workspaceId: string;
  organizationId: string;
  region: Region;
  state: RefundState;
  currency: Currency;
  wantedCents: bigint;
  takenCents: bigint | null;
  unitNanoUsd: bigint;
  taxCents: bigint | null;
  creditNoteNumber: string | null;
  pspRefundId: string | null;
  refusal: string | null;
  note: string;
  startedBy: string;
  createdAt: Date;
  endedAt: Date | null;
  /** The top-up's. */
  netCents: bigint;
  toppedTaxCents: bigint;
  taxCountry: string | null;
  invoiceId: string;
}

const SELECT = sql`
  SELECT refund_id AS "refundId", refund.top_up_id AS "topUpId", workspace_id AS "workspaceId", organization_id AS "organizationId", region,
    refund.state, currency, wanted_cents AS "wantedCents", taken_cents AS "takenCents", unit_nano_usd AS "unitNanoUsd",
    refund.tax_cents AS "taxCents", credit_note_number AS "creditNoteNumber", psp_refund_id AS "pspRefundId", refusal, note,
    refund.started_by AS "startedBy", refund.created_at AS "createdAt", ended_at AS "endedAt", net_cents AS "netCents",
    top_up.tax_cents AS "toppedTaxCents", tax_country AS "taxCountry", invoice_id AS "invoiceId"
  FROM refund JOIN top_up USING (top_up_id) JOIN workspace USING (workspace_id)`;

/** Reads a refund under the lock of its top-up, so that all that changes what is left of it takes turns. */
async function lockRefund(tx: Tx, refundId: string): Promise<Refund | undefined> {
  const [refund] = await tx.$queryRaw<Refund[]>(
    sql`${SELECT} WHERE refund_id = ${refundId} FOR NO KEY UPDATE OF top_up, refund`,
  );
  return refund;
}

/**
 * Wants the credit of a top-up back from its region, or that of `netCents`. Throws `top_up_not_found`, `top_up_not_invoiced`,
 * `top_up_disputed`, `refund_under_way` or `refund_too_large`, and changes nothing then.
 */
export async function startRefund(
  db: Db,
  { topUpId, netCents, note, by }: { topUpId: string; netCents: number | undefined; note: string; by: string },
  origin: Origin,
) {
  const refundId = `refund_${newUuidV7()}`;
  await db.$transaction(async (tx) => {
    const topUp = await lockTopUp(tx, topUpId);
    if (topUp.state !== 'invoiced') throw new ApiError({ kind: 'top_up_not_invoiced', state: topUp.state });
    if (topUp.isDisputed) throw new ApiError({ kind: 'top_up_disputed' });
    if (topUp.openRefundId !== null) throw new ApiError({ kind: 'refund_under_way', refund_id: topUp.openRefundId });
    const left = topUp.netCents - topUp.refundedCents;
    const wanted = netCents === undefined ? left : BigInt(netCents);
    if (wanted > left || wanted < 1n) throw new ApiError({ kind: 'refund_too_large', left: String(left) });
    const unit = topUp.nanoUsd / topUp.netCents;
    await tx.$executeRaw(sql`
      INSERT INTO refund (refund_id, top_up_id, wanted_cents, unit_nano_usd, note, started_by)
      VALUES (${refundId}, ${topUpId}, ${wanted}, ${unit}, ${note}, ${by})`);
    await writeAudit(tx, origin, {
      ...{ organizationId: topUp.organizationId, actor: by, action: 'refund.started', target: refundId },
      after: { top_up_id: topUpId, net_cents: Number(wanted) },
    });
    await tell(tx, topUp.region, {
      ...{ kind: 'take_back', take_back_id: refundId, workspace_id: topUp.workspaceId },
      ...{ nano_usd: String(wanted * unit), unit_nano_usd: String(unit) },
    });
  });
  return getRefund(db, refundId);
}

interface LockedTopUp {
  workspaceId: string;
  organizationId: string;
  region: Region;
  state: TopUpState;
  netCents: bigint;
  nanoUsd: bigint;
  /** Cents without tax of all credit notes, and of the refund under way. */
  refundedCents: bigint;
  openRefundId: string | null;
  /** A dispute has taken the money. */
  isDisputed: boolean;
}

/** Locks a top-up. Its sums are read after that, so that they are those of now. Throws `top_up_not_found`. */
async function lockTopUp(tx: Tx, topUpId: string): Promise<LockedTopUp> {
  await tx.$queryRaw(sql`SELECT 1 AS one FROM top_up WHERE top_up_id = ${topUpId} FOR NO KEY UPDATE`);
  const [topUp] = await tx.$queryRaw<LockedTopUp[]>(sql`
    SELECT workspace_id AS "workspaceId", organization_id AS "organizationId", region, state, net_cents AS "netCents", nano_usd AS "nanoUsd",
      (SELECT coalesce(sum(coalesce(taken_cents, wanted_cents)), 0)::BIGINT FROM refund
        WHERE refund.top_up_id = top_up.top_up_id AND refund.state <> 'refused') AS "refundedCents",
      (SELECT refund_id FROM refund WHERE refund.top_up_id = top_up.top_up_id AND refund.state IN ('taking', 'taken')) AS "openRefundId",
      EXISTS (SELECT FROM dispute WHERE dispute.top_up_id = top_up.top_up_id AND is_taken) AS "isDisputed"
    FROM top_up JOIN workspace USING (workspace_id) WHERE top_up_id = ${topUpId}`);
  if (!topUp) throw new ApiError({ kind: 'top_up_not_found' });
  return topUp;
}

/** Queues the refund of what was taken, in the transaction that booked it. */
interface RefundQueue {
  continue(tx: Tx, refundId: string): Promise<void>;
}

/**
 * Books what a region took for a refund, once, and returns the booked nano-dollars. Throws `take_back_not_found` for one of another
 * region, and `take_back_differs` for an amount that is not wanted.
 */
export async function recordTaken(
  { db, reversalQueue }: { db: Db; reversalQueue: RefundQueue },
  { refundId, region, takenNanoUsd }: { refundId: string; region: Region; takenNanoUsd: bigint },
): Promise<bigint> {
  return db.$transaction(async (tx) => {
    const refund = await lockRefund(tx, refundId);
    if (!refund || refund.region !== region) throw new ApiError({ kind: 'take_back_not_found' });
    const { unitNanoUsd: unit, wantedCents, takenCents } = refund;
    if (takenCents !== null) return takenCents * unit;
    const cents = takenNanoUsd / unit;
    if (takenNanoUsd < 0n || takenNanoUsd % unit !== 0n || cents > wantedCents)
      throw new ApiError({ kind: 'take_back_differs' });
    if (cents > 0n) {
      await post(tx, refundId, [moveCredit(refund, 'taken_back', cents)]);
      await tx.$executeRaw(
        sql`UPDATE refund SET state = 'taken', taken_cents = ${cents} WHERE refund_id = ${refundId}`,
      );
      await reversalQueue.continue(tx, refundId);
    } else
      await tx.$executeRaw(sql`
        UPDATE refund SET state = 'nothing_taken', taken_cents = 0, ended_at = now() WHERE refund_id = ${refundId}`);
    return takenNanoUsd;
  });
}

/**
 * Refunds what a region took by a credit note of the processor, which moves the money and mirrors the tax, and books it once. Returns the
 * state. Credit is given back if the processor refuses. Jobs and the sweep call this; calls at once and repeated ones refund once.
 */
export async function continueRefund(
  { db, payments }: { db: Db; payments: Payments },
  refundId: string,
): Promise<RefundState> {
  const [refund] = await db.$queryRaw<Refund[]>(sql`${SELECT} WHERE refund_id = ${refundId}`);
  if (!refund) throw new ApiError({ kind: 'refund_not_found' });
  if (refund.state !== 'taken') return refund.state;
  const taxCents = await readTax(db, refund);
  let note: Stripe.CreditNote;
  try {
    note = (await findCreditNote(payments, refund)) ?? (await createCreditNote(payments, refund, taxCents));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return refuse(db, refundId, error.message);
  }
  const pspRefund = note.refunds[0]?.refund;
  const pspRefundId = typeof pspRefund === 'string' ? pspRefund : pspRefund?.id;
  const isEqual =
    note.currency === refund.currency &&
    BigInt(note.subtotal) === refund.takenCents &&
    BigInt(note.total) === BigInt(note.subtotal) + taxCents;
  if (!isEqual || pspRefundId === undefined)
    throw new Error(`the credit note ${note.id} is not that of the refund ${refundId}`);
  return recordRefunded(db, refundId, { taxCents, pspRefundId, creditNoteId: note.id, number: note.number });
}

/** The share of the tax that belongs to a part, less the shares of the parts before it: all parts have all of it. */
async function readTax(db: Db, { refundId, topUpId, takenCents, netCents, toppedTaxCents }: Refund): Promise<bigint> {
  const [before] = await db.query(sql<{ net: bigint; tax: bigint }>`
    SELECT coalesce(sum(taken_cents), 0)::BIGINT AS net, coalesce(sum(tax_cents), 0)::BIGINT AS tax FROM refund
    WHERE top_up_id = ${topUpId} AND state IN ('refunded', 'failed') AND refund_id <> ${refundId}`);
  return shareOf(toppedTaxCents, (before?.net ?? 0n) + (takenCents ?? 0n), netCents) - (before?.tax ?? 0n);
}

/** The processor forgets idempotency keys after a day, and keeps credit notes. */
async function findCreditNote(
  { stripe }: Payments,
  { refundId, invoiceId }: Refund,
): Promise<Stripe.CreditNote | undefined> {
  for await (const note of stripe.creditNotes.list({ invoice: invoiceId, limit: 100 }))
    if (note.metadata?.refund_id === refundId) return note;
  return undefined;
}

async function createCreditNote(
  { stripe }: Payments,
  { refundId, invoiceId, takenCents }: Refund,
  taxCents: bigint,
): Promise<Stripe.CreditNote> {
  const invoice = await stripe.invoices.retrieve(invoiceId);
  const [line, ...others] = invoice.lines.data;
  if (!line || others.length > 0) throw new Error(`the invoice ${invoiceId} has not one line`);
  const cents = Number(takenCents);
  return stripe.creditNotes.create(
    {
      invoice: invoiceId,
      lines: [{ type: 'invoice_line_item', invoice_line_item: line.id, amount: cents }],
      refund_amount: cents + Number(taxCents),
      metadata: { refund_id: refundId },
    },
    { idempotencyKey: `${refundId}:credit_note` },
  );
}

/** The processor says that it will never make this credit note: the payment is disputed, or somebody refunded it there. */
const isRefusal = (error: unknown): error is Stripe.errors.StripeError =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 400;

interface Credited {
  taxCents: bigint;
  pspRefundId: string;
  creditNoteId: string;
  number: string;
}

async function recordRefunded(db: Db, refundId: string, credited: Credited): Promise<RefundState> {
  const { taxCents, pspRefundId, creditNoteId, number } = credited;
  return move(db, refundId, 'refunded', async (tx, refund) => {
    await post(tx, refundId, listMoneyBack(refund, taxCents));
    await tx.$executeRaw(sql`
      UPDATE refund SET state = 'refunded', tax_cents = ${taxCents}, psp_refund_id = ${pspRefundId}, credit_note_id = ${creditNoteId},
        credit_note_number = ${number}, ended_at = now()
      WHERE refund_id = ${refundId}`);
  });
}

const refuse = (db: Db, refundId: string, refusal: string): Promise<RefundState> =>
  move(db, refundId, 'refused', async (tx, refund) => {
    await giveBack(tx, refund);
    await tx.$executeRaw(sql`
      UPDATE refund SET state = 'refused', refusal = ${refusal.slice(0, 500)}, ended_at = now() WHERE refund_id = ${refundId}`);
  });

/** Looks at a refund of the processor, and fails ours where it failed. Does nothing for a refund of others. */
export async function settlePspRefund(
  { db, payments }: { db: Db; payments: Payments },
  pspRefundId: string,
): Promise<void> {
  const [refund] = await db.query(sql<{ id: string }>`
    SELECT refund_id AS id FROM refund WHERE psp_refund_id = ${pspRefundId} AND state = 'refunded'`);
  if (!refund) return;
  const { status } = await payments.stripe.refunds.retrieve(pspRefundId);
  if (status === 'failed' || status === 'canceled') await failRefund(db, refund.id);
}

/** Gives the credit of a refund back whose money came back from the bank, because the customer has neither. Changes nothing twice. */
const failRefund = (db: Db, refundId: string): Promise<RefundState> =>
  move(db, refundId, 'failed', async (tx, refund) => {
    await giveBack(tx, refund, listMoneyHere(refund));
    await tx.$executeRaw(sql`UPDATE refund SET state = 'failed', ended_at = now() WHERE refund_id = ${refundId}`);
  });

/** Moves a refund to a state under its lock, with the audit. Returns the present state, and changes nothing, where it may not follow. */
const move = (
  db: Db,
  refundId: string,
  state: RefundState,
  work: (tx: Tx, refund: Refund) => Promise<void>,
): Promise<RefundState> =>
  db.$transaction(async (tx) => {
    const refund = await lockRefund(tx, refundId);
    if (!refund) throw new ApiError({ kind: 'refund_not_found' });
    if (!mayFollowRefund(refund.state, state)) return refund.state;
    await work(tx, refund);
    await writeAudit(tx, SYSTEM, {
      ...{ organizationId: refund.organizationId, actor: 'system', action: `refund.${state}`, target: refundId },
      after: { top_up_id: refund.topUpId, net_cents: Number(refund.takenCents) },
    });
    return state;
  });

async function giveBack(tx: Tx, refund: Refund, others: Transfer[] = []): Promise<void> {
  const { refundId, workspaceId, region, takenCents, unitNanoUsd } = refund;
  const cents = takenCents ?? 0n;
  await post(tx, refundId, [moveCredit(refund, 'given_back', cents), ...others]);
  await tell(tx, region, {
    ...{ kind: 'credit', credit_id: `${refundId}_back`, workspace_id: workspaceId },
    ...{ nano_usd: String(cents * unitNanoUsd), note: 'refund that came to nothing' },
  });
}

const moveCredit = (
  { refundId, workspaceId, unitNanoUsd }: Refund,
  code: 'taken_back' | 'given_back',
  cents: bigint,
): Transfer => {
  const [wallet, bridge] = [walletOf(workspaceId), 'fx_bridge'];
  const [debit, credit] = code === 'taken_back' ? [wallet, bridge] : [bridge, wallet];
  return { id: `${refundId}:${code}`, unit: 'nano_usd', debit, credit, amount: cents * unitNanoUsd, code };
};

/** The money of a refund leaves the processor: its tax is due no more. */
function listMoneyBack({ refundId: id, currency, takenCents, taxCountry }: Refund, taxCents: bigint): Transfer[] {
  const unit = `${currency}_cent` as const;
  const credit = 'psp_clearing';
  const net: Transfer = {
    id: `${id}:net_back`,
    unit,
    debit: 'fx_bridge',
    credit,
    amount: takenCents ?? 0n,
    code: 'net_back',
  };
  if (taxCents === 0n) return [net];
  return [
    net,
    { id: `${id}:vat_back`, unit, debit: `vat_payable:${taxCountry}`, credit, amount: taxCents, code: 'vat_back' },
  ];
}

/** The money of a refund comes back to the processor. */
function listMoneyHere({ refundId: id, currency, takenCents, taxCents, taxCountry }: Refund): Transfer[] {
  const unit = `${currency}_cent` as const;
  const debit = 'psp_clearing';
  const net: Transfer = { id: `${id}:net`, unit, debit, credit: 'fx_bridge', amount: takenCents ?? 0n, code: 'net' };
  if (!taxCents) return [net];
  return [net, { id: `${id}:vat`, unit, debit, credit: `vat_payable:${taxCountry}`, amount: taxCents, code: 'vat' }];
}

const toBody = (refund: Refund) => ({
  refund_id: refund.refundId,
  top_up_id: refund.topUpId,
  workspace_id: refund.workspaceId,
  state: refund.state,
  currency: refund.currency,
  wanted_cents: Number(refund.wantedCents),
  taken_cents: refund.takenCents === null ? null : Number(refund.takenCents),
  tax_cents: refund.taxCents === null ? null : Number(refund.taxCents),
  taken_nano_usd: refund.takenCents === null ? null : String(refund.takenCents * refund.unitNanoUsd),
  credit_note_number: refund.creditNoteNumber,
  refusal: refund.refusal,
  note: refund.note,
  started_by: refund.startedBy,
  created_at: refund.createdAt.toISOString(),
  ended_at: refund.endedAt?.toISOString() ?? null,
});

/** Returns a refund. Throws `refund_not_found`. */
export async function getRefund(db: Db, refundId: string) {
  const [refund] = await db.$queryRaw<Refund[]>(sql`${SELECT} WHERE refund_id = ${refundId}`);
  if (!refund) throw new ApiError({ kind: 'refund_not_found' });
  return toBody(refund);
}

/** Lists the refunds of all workspaces or of one by their ids, 500 a page. */
export async function listRefunds(db: Db, { after, workspaceId }: { after: string; workspaceId: string | undefined }) {
  const refunds = await db.$queryRaw<Refund[]>(sql`
    ${SELECT} WHERE refund_id > ${after} AND (${workspaceId ?? null}::TEXT IS NULL OR workspace_id = ${workspaceId ?? null})
    ORDER BY refund_id LIMIT ${PAGE_SIZE}`);
  return {
    refunds: refunds.map(toBody),
    next_after: refunds.length < PAGE_SIZE ? null : (refunds.at(-1)?.refundId ?? null),
  };
}

/** Returns the share of `whole` that belongs to `part` of `of`, rounded half up. */
export const shareOf = (whole: bigint, part: bigint, of: bigint): bigint => (whole * part * 2n + of) / (of * 2n);
