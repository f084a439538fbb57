import type { billingDetailsSchema } from '@turnpike/console-api/account/billing';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type Stripe from 'stripe';
import type * as z from 'zod/mini';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
import { getCustomer } from './customers.ts';
import { type Payments, throwPaymentsAway } from './paymentProcessor.ts';
import { askAbout, changeAlone, hasCode, removeTaxId, type VatState } from './taxIds.ts';
import { endOpenPages } from './vatIdGate.ts';
import type { VatIdQueue } from './vatIdQueue.ts';

/** The buyer as invoices name it. */
export type Details = z.output<typeof billingDetailsSchema>;

interface Row {
  name: string | null;
  line1: string | null;
  line2: string | null;
  postalCode: string | null;
  city: string | null;
  state: string | null;
  country: string | null;
  vatId: string | null;
  vatState: VatState | null;
  vatName: string | null;
  vatCheckedAt: Date | null;
  taxId: string | null;
}

async function findRow(db: Db, organizationId: string): Promise<Row | undefined> {
  const [row] = await db.query(sql<Row>`
    SELECT name, line1, line2, postal_code AS "postalCode", city, state, country, vat_id AS "vatId", vat_state AS "vatState",
      vat_name AS "vatName", vat_checked_at AS "vatCheckedAt", psp_tax_id AS "taxId"
    FROM billing_account WHERE organization_id = ${organizationId}`);
  return row;
}

/** Returns the address and the VAT id of an organization. All fields are null before the first change. */
export async function readBillingDetails(db: Db, organizationId: string) {
  const row = await findRow(db, organizationId);
  const { name = null, line1 = null, line2 = null, postalCode = null, city = null, state = null } = row ?? {};
  return {
    ...{ name, line1, line2, city, state, postal_code: postalCode, country: row?.country ?? null },
    vat_id: row?.vatId ?? null,
    vat_state: row?.vatState ?? null,
    vat_name: row?.vatName ?? null,
    vat_checked_at: row?.vatCheckedAt?.toISOString() ?? null,
  };
}

/** The countries of VAT ids whose letters are not those of one ISO code. Monaco is part of France for VAT. */
const COUNTRIES_OF_PREFIX: Record<string, string[]> = { EL: ['GR'], FR: ['FR', 'MC'] };

/** Writes a VAT id without blanks, dots and dashes. */
const toPlainVatId = (text: string): string => text.toUpperCase().replaceAll(/[\s.-]/g, '');

/**
 * Changes the address and the VAT id, at the processor and here. Checkout pages end. A new VAT id waits for its verdict. Throws
 * `billing_not_provisioned`, `details_are_changing`, `address_not_recognized`, `vat_id_invalid`, `vat_id_of_another_country` or
 * `payments_away`; after the last one the processor may have the new address already.
 */
export async function changeBillingDetails(
  { db, payments, vatIdQueue }: { db: Db; payments: Payments | undefined; vatIdQueue: VatIdQueue },
  { organizationId, userId, details }: { organizationId: string; userId: string; details: Details },
  origin: Origin,
) {
  if (!payments) throw new ApiError({ kind: 'billing_not_provisioned' });
  const vatId = details.vat_id === null ? null : toPlainVatId(details.vat_id);
  const prefix = vatId?.slice(0, 2) ?? '';
  if (vatId !== null && !(COUNTRIES_OF_PREFIX[prefix] ?? [prefix]).includes(details.country))
    throw new ApiError({ kind: 'vat_id_of_another_country' });
  const { stripe } = payments;
  const customer = await getCustomer({ db, stripe }, organizationId).catch(throwPaymentsAway);
  await changeAlone(db, organizationId, async () => {
    const before = await findRow(db, organizationId);
    const isNew = vatId !== (before?.vatId ?? null);
    await endOpenPages(db, stripe, organizationId);
    await changeCustomer(stripe, customer, { details, address: origin.address });
    const asked = isNew && vatId !== null ? await askAbout(stripe, customer, vatId) : undefined;
    if (isNew && before?.taxId) await removeTaxId(stripe, customer, before.taxId);
    await db.$transaction(async (tx) => {
      const { name, line1, line2, postal_code: postalCode, city, state, country } = details;
      await tx.$executeRaw(sql`
        UPDATE billing_account SET name = ${name}, line1 = ${line1}, line2 = ${line2}, postal_code = ${postalCode}, city = ${city},
          state = ${state}, country = ${country}
        WHERE organization_id = ${organizationId}`);
      if (isNew)
        await tx.$executeRaw(sql`
          UPDATE billing_account SET vat_id = ${vatId}, vat_state = ${asked ? 'pending' : null},
            vat_asked_at = ${asked ? new Date() : null}, vat_checked_at = NULL, vat_name = NULL, psp_tax_id = ${asked?.id ?? null}
          WHERE organization_id = ${organizationId}`);
      if (asked) await vatIdQueue.follow(tx, organizationId);
      await writeAudit(tx, origin, {
        ...{ organizationId, actor: userId, action: 'billing_details.changed', target: organizationId },
        before: { country: before?.country ?? null, vat_id: before?.vatId ?? null },
        after: { country, vat_id: vatId },
      });
    });
  });
  return readBillingDetails(db, organizationId);
}

/** Gives the customer its address, with the client's address as evidence of the place. Throws `address_not_recognized`. */
async function changeCustomer(
  stripe: Stripe,
  customer: string,
  { details, address }: { details: Details; address: string },
): Promise<void> {
  const { name, line1, line2, postal_code: postalCode, city, state, country } = details;
  try {
    await stripe.customers.update(customer, {
      name,
      address: { line1, line2: line2 ?? '', postal_code: postalCode ?? '', city, state: state ?? '', country },
      tax: { validate_location: 'immediately', ip_address: address },
    });
  } catch (error) {
    if (hasCode(error, 'customer_tax_location_invalid')) throw new ApiError({ kind: 'address_not_recognized' });
    throwPaymentsAway(error);
  }
}
