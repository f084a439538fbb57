/** The terms of an automatic top-up. */
export interface MandateTerms {
  currency: 'usd' | 'eur';
  netCents: number;
  thresholdNanoUsd: bigint;
  dayLimitCents: number;
  monthLimitCents: number;
  card: { brand: string; last4: string };
}

const SIGNS = { usd: '$', eur: '€' };

/** The names of the brands that the payment processor writes in its own way. */
const BRANDS: Record<string, string> = {
  amex: 'American Express',
  diners: 'Diners Club',
  eftpos_au: 'eftpos',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  unknown: 'Card',
};

/** Names a card by its brand and its last digits: `Visa ending in 4242`. */
export function toCardName({ brand, last4 }: { brand: string; last4: string }): string {
  const name = BRANDS[brand] ?? `${brand.slice(0, 1).toUpperCase()}${brand.slice(1).replaceAll('_', ' ')}`;
  return `${name} ending in ${last4}`;
}

/** Returns the text by which a person allows charges to a saved card. The page shows it, and the control plane keeps what it showed. */
export function toMandateText(terms: MandateTerms): string {
  const { currency, card } = terms;
  const money = (cents: number): string => `${SIGNS[currency]}${(cents / 100).toFixed(2)}`;
  return [
    `When the balance of this workspace falls below $${toUsdText(terms.thresholdNanoUsd)}, Turnpike charges ${money(terms.netCents)} plus tax`,
    ` to the card ${toCardName(card)}, without asking again.`,
    ` Before tax, the charges are at most ${money(terms.dayLimitCents)} in a day and ${money(terms.monthLimitCents)} in a month (UTC).`,
    ' You can switch this off at any time.',
  ].join('');
}

const NANO_PER_USD = 1_000_000_000n;

/** `12500000000n` is `12.50`. A part of a cent is kept. */
function toUsdText(nanoUsd: bigint): string {
  const fraction = String(nanoUsd % NANO_PER_USD).padStart(9, '0');
  return `${nanoUsd / NANO_PER_USD}.${fraction.replace(/0{1,7}$/, '')}`;
}
