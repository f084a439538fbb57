/** Rows of payments, which cannot be made yet. They are counted, and not tested. */
export const notYetServedRows = {
  'account.top-up-eur': 'a top-up in euros is converted once, at the month’s reference rate, and recorded with it',
  'account.currency': 'us accounts are invoiced in dollars, eu accounts in euros with VAT',
} as const;
