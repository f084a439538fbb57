import { until } from './until.ts';

/** A mail that the local stack's mail catcher keeps. */
export interface CaughtMail {
  id: string;
  received_at: string;
  from: { name: string; address: string };
  /** Every recipient of the envelope, in lower case. */
  to: string[];
  subject: string;
  text: string;
  html: string;
}

/** Waits for a mail to this address, the first one after `after` or else the first of all, and returns it. */
export async function untilMail(
  catcherUrl: string,
  { to, after }: { to: string; after?: CaughtMail },
): Promise<CaughtMail> {
  const url = new URL('/mails', catcherUrl);
  url.searchParams.set('to', to);
  return until(`a mail to ${to}`, async () => {
    const { mails } = (await (await fetch(url)).json()) as { mails: CaughtMail[] };
    return mails.findLast(({ id }) => after === undefined || id > after.id);
  });
}
