import type { IncomingMessage } from 'node:http';

const LONGEST_WAIT_SECONDS = 30;

/** How long a client would have an answer wait for a change (`Prefer: wait=N`, RFC 7240), in milliseconds; undefined: not at all. */
export function preferredWaitMs({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const preferences = headers.prefer;
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:[;,]|$)/i.exec(String(preferences ?? '')) ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT_SECONDS) * 1_000;
}

/** Number of the repeat, where the usual clients send a call again by themselves, without an answer or after one that they retry; else 0. */
export function readRepeat({ headers }: Pick<IncomingMessage, 'headers'>): number {
  const count = String(headers['x-stainless-retry-count'] ?? '');
  return /^[1-9]\d{0,3}$/.test(count) ? Number(count) : 0;
}
