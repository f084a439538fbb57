import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Processor } from '../state/processor.ts';

/** The shape of a tax id. A VAT id of the Union begins with its country, Greece being EL. */
const SHAPES: Record<string, RegExp> = {
  eu_vat: /^(AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI)[0-9A-Z]{5,12}$/,
  gb_vat: /^GB(\d{9}|\d{12})$/,
  ch_vat: /^CHE-\d{3}\.\d{3}\.\d{3} (MWST|TVA|IVA)$/,
};
const COUNTRY_OF_PREFIX: Record<string, string> = { EL: 'GR', XI: 'GB' };

/** Adds a tax id to a customer. Its verdict follows after a moment. Throws `tax_id_invalid` if it has not the shape of one. */
export function addTaxId(
  processor: Processor,
  customer: string,
  type: 'eu_vat' | 'gb_vat' | 'ch_vat',
  value: string,
): Stripe.TaxId {
  const plain = type === 'ch_vat' ? value : value.toUpperCase().replaceAll(/[\s.-]/g, '');
  if (!SHAPES[type]?.test(plain))
    throw invalid(`Invalid value for ${type}.`, { code: 'tax_id_invalid', param: 'value' });
  const prefix = plain.slice(0, 2);
  const taxId = processor.taxIds.add({
    id: processor.newId('txi'),
    object: 'tax_id',
    country: COUNTRY_OF_PREFIX[prefix] ?? prefix,
    created: processor.now(),
    customer,
    customer_account: null,
    livemode: false,
    owner: { customer, customer_account: null, type: 'customer' },
    type,
    value: plain,
    verification: { status: 'pending', verified_address: null, verified_name: null },
  });
  processor.emit('customer.tax_id.created', taxId);
  verifyLater(processor, taxId.id);
  return taxId;
}

/** Gives the verdict after a moment, unless the tax id is gone by then. */
export function verifyLater(processor: Processor, id: string): void {
  processor.later(processor.knobs.taxIdDelayMs, () => {
    const taxId = processor.taxIds.find(id);
    if (taxId === undefined) return;
    const verified = processor.taxIds.update(id, { verification: toVerdict(taxId) });
    processor.emit('customer.tax_id.updated', verified, { verification: { status: 'pending' } });
  });
}

/** Decides by the last three digits: 100 is valid, 999 cannot be asked about, and all others are not valid. */
function toVerdict({ value, country }: Stripe.TaxId): Stripe.TaxId.Verification {
  const end = value.replaceAll(/\D/g, '').slice(-3);
  if (end === '100')
    return { status: 'verified', verified_name: 'EXAMPLE BUSINESS', verified_address: `1 EXAMPLE STREET, ${country}` };
  return { status: end === '999' ? 'unavailable' : 'unverified', verified_name: null, verified_address: null };
}

export function removeTaxId(processor: Processor, taxId: Stripe.TaxId): Stripe.DeletedTaxId {
  processor.taxIds.remove(taxId.id);
  processor.emit('customer.tax_id.deleted', taxId);
  return { id: taxId.id, object: 'tax_id', deleted: true };
}
