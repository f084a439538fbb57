/** Rows of the account layer, which is not built yet. They are counted, and not tested. */
export const notYetServedRows = {
  'account.one-workspace': 'an organization has at most one workspace in each region',
  'account.region-permanent': 'the region of a workspace is chosen at its creation and never changes',
  'account.top-up-eur': 'a top-up in euros is converted once, at the month’s reference rate, and recorded with it',
  'account.currency': 'us accounts are invoiced in dollars, eu accounts in euros with VAT',
  'account.legacy-host': 'the legacy host is another name of the us service',
} as const;
