import { type Html, html } from '@turnpike/http-service/html';
import type { Stripe } from 'stripe';
import { VAT_BASIS_POINTS } from '../tax/vatRates.ts';

const COUNTRIES = [...Object.keys(VAT_BASIS_POINTS), 'CH', 'GB', 'NO', 'US'];
const names = new Intl.DisplayNames('en', { type: 'region' });

/** The fields of an address, filled with what is known. Has a field of the name unless `name` is undefined. */
export const addressFields = (address: Stripe.Address | null, name?: string | null): Html => html`<fieldset>
<legend>Billing address</legend>
${name === undefined ? '' : field('name', 'Name', 'name', name)}
<label for="country">Country</label>
<select id="country" name="country" autocomplete="country">${COUNTRIES.map(
  (code) =>
    html`<option value="${code}"${code === address?.country ? html` selected` : ''}>${names.of(code) ?? code}</option>`,
)}</select>
${field('postal_code', 'Postal code', 'postal-code', address?.postal_code)}
${field('line1', 'Street', 'address-line1', address?.line1)}
${field('city', 'City', 'address-level2', address?.city)}
${field('state', 'State, in the United States', 'address-level1', address?.state)}
</fieldset>`;

const field = (name: string, label: string, autocomplete: string, value: string | null | undefined): Html =>
  html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="text" autocomplete="${autocomplete}" value="${value ?? ''}">`;

/** Returns the address of a form. */
export function readAddress(form: URLSearchParams): Stripe.Address {
  const typed = (name: string) => form.get(name)?.trim().slice(0, 200) || null;
  return {
    city: typed('city'),
    country: typed('country'),
    line1: typed('line1'),
    line2: null,
    postal_code: typed('postal_code'),
    state: typed('state'),
  };
}
