import { type Html, html } from '@turnpike/http-service/html';
import type { Stripe } from 'stripe';
import { CARDS } from '../state/cards.ts';
import { addressFields } from './addressFields.ts';
import { toAlert, toMoney, toPage } from './page.ts';

interface CheckoutPage {
  session: Stripe.Checkout.Session;
  /** Whether the visitor enters an address. */
  asksAddress: boolean;
  asksName: boolean;
  problem?: string | undefined;
}

/** The page on which a visitor pays a session, or leaves it. */
export function checkoutPage({ session, asksAddress, asksName, problem }: CheckoutPage): string {
  const { currency, amount_total: total, cancel_url: back, automatic_tax: tax } = session;
  const { address = null, name = null } = session.customer_details ?? {};
  const canPay = tax.status !== 'requires_location_inputs';
  return toPage(
    `Pay ${toMoney(total ?? 0, currency ?? 'eur')}`,
    html`${toAlert(problem)}
${summary(session)}
${asksAddress ? addressForm(address, asksName ? name : undefined) : ''}
${session.custom_text.submit ? html`<p>${session.custom_text.submit.message}</p>` : ''}
${canPay ? cardForm(toMoney(total ?? 0, currency ?? 'eur')) : html`<p>Enter your country to see the tax.</p>`}
${back === null ? '' : html`<p><a href="${back}">Cancel and go back</a></p>`}`,
  );
}

function summary(session: Stripe.Checkout.Session): Html {
  const { currency, amount_subtotal: net, amount_total: total, total_details: details } = session;
  const money = (cents: number | null) => toMoney(cents ?? 0, currency ?? 'eur');
  const items = (session.line_items?.data ?? []).map(
    (item) => html`<tr><th scope="row">${item.description ?? ''}</th><td>${money(item.amount_subtotal)}</td></tr>`,
  );
  const [tax] = details?.breakdown?.taxes ?? [];
  return html`<table>
<caption>Your order</caption>
<tbody>${items}
<tr><th scope="row">Net</th><td>${money(net)}</td></tr>
<tr><th scope="row">${toTaxName(tax)}</th><td>${money(details?.amount_tax ?? 0)}</td></tr>
<tr class="total"><th scope="row">Total</th><td>${money(total)}</td></tr>
</tbody></table>`;
}

function toTaxName(tax: Stripe.LineItem.Tax | undefined): string {
  if (tax === undefined) return 'Tax';
  const { rate, taxability_reason: reason } = tax;
  if (reason === 'reverse_charge') return 'VAT (reverse charge)';
  return `${rate.display_name} ${rate.jurisdiction ?? ''} (${rate.percentage} %)`;
}

const addressForm = (address: Stripe.Address | null, name: string | null | undefined): Html => html`<form method="post">
${addressFields(address, name)}
<button name="action" value="address">Use this address</button>
</form>`;

/** The form with the test cards. */
export const cardForm = (total: string): Html => html`<form method="post">
<fieldset>
<legend>Card</legend>
${CARDS.map(
  ({ number, label }, index) => html`<label>
<input type="radio" name="card" value="${number}"${index === 0 ? ' checked' : ''}> ${toGroups(number)}: ${label}
</label>`,
)}
</fieldset>
<button name="action" value="pay">Pay ${total}</button>
</form>`;

const toGroups = (number: string): string => number.replaceAll(/(\d{4})(?=\d)/g, '$1 ');

/** The page of the bank that asks the cardholder. */
export const bankPage = (total: string): string =>
  toPage(
    'Your bank asks',
    html`<p>Do you pay ${total} to Turnpike?</p>
<form method="post">
<button name="action" value="approve">Approve</button>
<button name="action" value="refuse">Refuse</button>
</form>`,
  );

/** The page of a session that can no longer be paid. */
export const endedPage = ({ status }: Stripe.Checkout.Session): string =>
  toPage(
    status === 'complete' ? 'This payment is done' : 'This page has expired',
    html`<p>Go back to the page where you wanted to pay.</p>`,
  );
