import type { Region } from '@turnpike/config/region';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { SYSTEM, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';
import { post, type Transfer, walletOf } from '../ledger/post.ts';
import type { Outbox } from '../mail/outbox.ts';
import { provisionWorkspace } from '../organizations/workspaces.ts';
import { getChargedRate } from '../rates/rates.ts';
import { chargeAutomatically } from './chargeAutomatically.ts';
import { type Currency, toCentsText, toNanoUsd } from './currencies.ts';
import { recordFailure } from './failedTopUps.ts';
import type { Payments } from './paymentProcessor.ts';
import { EXPANDED, type Found, type Payment, readPayment } from './readPayment.ts';
import { isFinal, mayFollow, type TopUpState } from './topUpStates.ts';

interface TopUp {
  topUpId: string;
  workspaceId: string;
  organizationId: string;
  region: Region;
  state: TopUpState;
  currency: Currency;
  netCents: bigint;
  sessionId: string | null;
  sessionEndsAt: Date;
  kind: 'checkout' | 'automatic';
  mandateId: string | null;
  askedInvoiceId: string | null;
  cardId: string | null;
}

export interface SettleDependencies {
  db: Db;
  payments: Payments;
  outbox: Outbox;
}

/**
 * Brings a top-up to the state that its payment has at the processor, and returns that state. Charges an automatic one first. Webhook,
 * return page, jobs and the operator all call this. Calls at the same time and repeated calls credit a top-up once. Throws
 * `top_up_not_found`.
 */
export async function settleTopUp({ db, payments, outbox }: SettleDependencies, topUpId: string): Promise<TopUpState> {
  const [topUp] = await db.$queryRaw<TopUp[]>(selectTopUp(topUpId));
  if (!topUp) throw new ApiError({ kind: 'top_up_not_found' });
  if (isFinal(topUp.state)) return topUp.state;
  const found =
    topUp.kind === 'automatic'
      ? await chargeAutomatically({ db, payments }, topUp)
      : await findPayment(payments, topUp);
  return db.$transaction(async (tx) => {
    // The lock has settlers take turns. A later one goes on from the state that it finds.
    const [locked] = await tx.$queryRaw<TopUp[]>(sql`${selectTopUp(topUpId)} FOR NO KEY UPDATE OF top_up`);
    if (!locked) throw new ApiError({ kind: 'top_up_not_found' });
    let { state } = locked;
    if (found.state === 'paid') {
      if (mayFollow(state, 'paid')) state = await credit(tx, locked, found.payment);
      if (state === 'paid' && found.invoice) state = await recordInvoice(tx, topUpId, found.invoice);
      return state;
    }
    if (!mayFollow(state, found.state)) return state;
    // The invoice that another settler has made since may be paid.
    if (found.state === 'expired' && locked.askedInvoiceId !== topUp.askedInvoiceId) return state;
    if (locked.kind === 'automatic') await recordFailure({ tx, outbox }, locked, found);
    else await tx.$executeRaw(sql`UPDATE top_up SET state = ${found.state} WHERE top_up_id = ${topUpId}`);
    return found.state;
  });
}

const selectTopUp = (topUpId: string) => sql`
  SELECT top_up_id AS "topUpId", workspace_id AS "workspaceId", organization_id AS "organizationId", region, state, currency,
    net_cents AS "netCents", session_id AS "sessionId", session_ends_at AS "sessionEndsAt", kind, mandate_id AS "mandateId",
    asked_invoice_id AS "askedInvoiceId",
    (SELECT card_id FROM top_up_mandate WHERE top_up_mandate.mandate_id = top_up.mandate_id) AS "cardId"
  FROM top_up JOIN workspace USING (workspace_id) WHERE top_up_id = ${topUpId}`;

/** Asks the processor for the payment. Nobody can pay on a page whose id was not stored, because no customer was sent to it. */
async function findPayment({ stripe }: Payments, topUp: TopUp): Promise<Found> {
  if (topUp.sessionId === null) return { state: topUp.sessionEndsAt < new Date() ? 'expired' : 'open' };
  return readPayment(await stripe.checkout.sessions.retrieve(topUp.sessionId, { expand: EXPANDED }), topUp);
}

/** Books the payment, and tells the region of the credit and of the workspace that may be used now. */
async function credit(tx: Tx, topUp: TopUp, payment: Payment): Promise<TopUpState> {
  const { topUpId, workspaceId, organizationId, region, currency, netCents } = topUp;
  const rate = currency === 'eur' ? await getChargedRate(tx, payment.chargedAt) : null;
  const nanoUsd = toNanoUsd(currency, netCents, rate?.rateE4 ?? null);
  // Locks the organization before accounts of the ledger are made, in the order of all transactions.
  await provisionWorkspace(tx, topUp);
  await post(tx, topUpId, listTransfers(topUp, payment, nanoUsd));
  const note = `top-up of ${currency} ${toCentsText(netCents)}`;
  await tell(tx, region, {
    ...{ kind: 'credit', credit_id: topUpId, workspace_id: workspaceId, nano_usd: String(nanoUsd), note },
  });
  await tx.$executeRaw(sql`
    UPDATE top_up SET state = 'paid', payment_url = NULL, intent_id = ${payment.intentId}, charge_id = ${payment.chargeId},
      charged_at = ${payment.chargedAt}, tax_cents = ${payment.taxCents}, tax_country = ${payment.taxCountry},
      rate_month = ${rate?.month ?? null}, rate_e4 = ${rate?.rateE4 ?? null}, nano_usd = ${nanoUsd}
    WHERE top_up_id = ${topUpId}`);
  await writeAudit(tx, SYSTEM, {
    ...{ organizationId, actor: 'system', action: 'top_up.paid', target: topUpId },
    after: { currency, net_cents: Number(netCents), nano_usd: String(nanoUsd) },
  });
  return 'paid';
}

/** The processor owes us the charge: the tax is the country's, and the rest crosses to the nano-dollars of the wallet. */
function listTransfers(
  { topUpId: id, workspaceId, currency, netCents }: TopUp,
  { taxCents, taxCountry }: Payment,
  nanoUsd: bigint,
): Transfer[] {
  const unit = `${currency}_cent` as const;
  const debit = 'psp_clearing';
  const tax: Transfer[] =
    taxCents > 0n
      ? [{ id: `${id}:vat`, unit, debit, credit: `vat_payable:${taxCountry}`, amount: taxCents, code: 'vat' }]
      : [];
  return [
    { id: `${id}:net`, unit, debit, credit: 'fx_bridge', amount: netCents, code: 'net' },
    ...tax,
    {
      ...{ id: `${id}:credit`, unit: 'nano_usd', amount: nanoUsd, code: 'credit' },
      ...{ debit: 'fx_bridge', credit: walletOf(workspaceId) },
    },
  ];
}

async function recordInvoice(
  tx: Tx,
  topUpId: string,
  { invoiceId, number }: { invoiceId: string; number: string },
): Promise<TopUpState> {
  await tx.$executeRaw(sql`
    UPDATE top_up SET state = 'invoiced', invoice_id = ${invoiceId}, invoice_number = ${number} WHERE top_up_id = ${topUpId}`);
  return 'invoiced';
}
