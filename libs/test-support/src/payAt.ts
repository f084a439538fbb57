/** A test card of the payments simulator, by its number without blanks. */
export const TEST_CARDS = {
  pays: '4242424242424242',
  asksOnce: '4000002500003155',
  asksAlways: '4000002760003184',
  isDeclined: '4000000000000002',
  hasNoFunds: '4000000000009995',
  isDeclinedLater: '4000000000000341',
  isDisputed: '4000000000000259',
} as const;

export interface PayOptions {
  card?: keyof typeof TEST_CARDS;
  /** Typed into the form of the page before paying, if there is one. */
  address?: Record<string, string>;
  /** The answer to the bank's question, `approve` if absent. */
  bank?: 'approve' | 'refuse';
}

/** The end of a visit to a hosted page: the address to which it leads, or its message if it does not let go. */
export type Visit = { location: URL } | { status: number; message: string };

/** Pays on the hosted page of the payments simulator, as a browser does. */
export async function payAt(
  pageUrl: string,
  { card = 'pays', address, bank = 'approve' }: PayOptions = {},
): Promise<Visit> {
  if (address) await submit(pageUrl, { action: 'address', ...address });
  const visit = await submit(pageUrl, { action: 'pay', card: TEST_CARDS[card] });
  const isAsked = 'location' in visit && visit.location.href === `${pageUrl}/bank`;
  return isAsked ? submit(visit.location.href, { action: bank }) : visit;
}

async function submit(url: string, fields: Record<string, string>): Promise<Visit> {
  const response = await fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  const page = await response.text();
  const location = response.headers.get('location');
  if (location !== null) return { location: new URL(location, url) };
  return { status: response.status, message: /role="alert">([^<]*)/.exec(page)?.[1] ?? page };
}
