import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import Stripe from 'stripe';
import type { Db, Tx } from '../database/openDatabase.ts';
import { throwPaymentsAway } from './paymentProcessor.ts';

export type VatState = 'pending' | 'verified' | 'unverified' | 'unavailable';

/** Longest time of a change: calls of the processor with their retries. */
const CHANGE_MS = 60_000;

/** Runs a change while no other one of the organization runs. Throws `details_are_changing` beside another one. */
export async function changeAlone<Result>(
  db: Db,
  organizationId: string,
  change: () => Promise<Result>,
): Promise<Result> {
  const until = new Date(Date.now() + CHANGE_MS);
  const isMine = await db.execute(sql`
    UPDATE billing_account SET changing_until = ${until}
    WHERE organization_id = ${organizationId} AND (changing_until IS NULL OR changing_until < now())`);
  if (isMine !== 1) throw new ApiError({ kind: 'details_are_changing' });
  try {
    return await change();
  } finally {
    await db.execute(sql`
      UPDATE billing_account SET changing_until = NULL WHERE organization_id = ${organizationId} AND changing_until = ${until}`);
  }
}

/** Adds a VAT id to a customer, about which the processor then asks. Throws `vat_id_invalid` for any other text. */
export async function askAbout(stripe: Stripe, customer: string, value: string): Promise<Stripe.TaxId> {
  try {
    return await stripe.customers.createTaxId(customer, { type: 'eu_vat', value });
  } catch (error) {
    if (hasCode(error, 'tax_id_invalid')) throw new ApiError({ kind: 'vat_id_invalid' });
    throwPaymentsAway(error);
  }
}

/** Takes a VAT id off a customer. It may be gone already. */
export async function removeTaxId(stripe: Stripe, customer: string, taxId: string): Promise<void> {
  await stripe.customers.deleteTaxId(customer, taxId).catch((error: unknown) => {
    if (!hasCode(error, 'resource_missing')) throwPaymentsAway(error);
  });
}

/**
 * Returns the refusal of a payment whose tax is not known, because the VAT id waits for its verdict or the details change. Holds off a
 * change until the end of the transaction.
 */
export async function findTaxChange(
  tx: Tx,
  organizationId: string,
): Promise<'vat_id_pending' | 'details_are_changing' | undefined> {
  const [row] = await tx.$queryRaw<{ vatState: string | null; isChanging: boolean }[]>(sql`
    SELECT vat_state AS "vatState", coalesce(changing_until > now(), false) AS "isChanging"
    FROM billing_account WHERE organization_id = ${organizationId} FOR SHARE`);
  if (row?.vatState === 'pending') return 'vat_id_pending';
  return row?.isChanging ? 'details_are_changing' : undefined;
}

/**
 * Takes those VAT ids off a customer that a change left at the processor before it failed, because each makes a sale reverse charge. Throws
 * `details_are_changing` beside a change.
 */
export async function removeLostTaxIds(
  { db, stripe }: { db: Db; stripe: Stripe },
  { organizationId, customer }: { organizationId: string; customer: string },
): Promise<void> {
  const findLost = async () => {
    const { data } = await stripe.customers.listTaxIds(customer, { limit: 100 });
    const [known] = await db.query(sql<{ id: string | null }>`
      SELECT psp_tax_id AS id FROM billing_account WHERE organization_id = ${organizationId}`);
    return data.filter(({ id, type }) => type === 'eu_vat' && id !== known?.id);
  };
  if ((await findLost()).length === 0) return;
  await changeAlone(db, organizationId, async () => {
    for (const { id } of await findLost()) await removeTaxId(stripe, customer, id);
  });
}

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Stripe.errors.StripeError && error.code === code;
