import type { IncomingMessage } from 'node:http';

const LONGEST_WAIT_SECONDS = 30;

/** How long a client would have an answer wait for a change (`Prefer: wait=N`, RFC 7240), in milliseconds; undefined: not at all. */
export function preferredWaitMs({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const preferences = headers.prefer;
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:[;,]|$)/i.exec(String(preferences ?? '')) ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT_SECONDS) * 1_000;
}

/** Whether the usual clients send this call again by themselves, as they got no answer, or one that they retry. */
export const isSentAgain = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  /^[1-9]\d{0,3}$/.test(String(headers['x-stainless-retry-count'] ?? ''));
