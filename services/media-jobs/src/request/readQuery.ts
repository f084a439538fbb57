import type { IncomingMessage } from 'node:http';
import { optional } from '@turnpike/public-api/requestFields';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { z } from 'zod';

/** Reads a query parameter. A repeated one is a list, which is refused. */
const text = () => z.string('must be given once');

const wholeNumber = (minimum: number, maximum: number) =>
  text()
    .regex(/^(?:0|[1-9]\d{0,3})$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be a whole number from ${minimum} to ${maximum}`);

const LIST_DEFAULT = 20;
const LIST_MAX = 100;
const JOBS_OF_A_LOOK_UP = 10;

const readList = createFieldReader(
  z.object({
    // No job has another id, and the database does not accept every text.
    after: optional(text().regex(/^\w{1,64}$/, 'must be the id of a video')),
    limit: optional(wholeNumber(1, LIST_MAX)),
    order: optional(z.enum(['asc', 'desc'])),
  }),
);
const readImageContent = createFieldReader(z.object({ index: optional(wholeNumber(0, 9)) }));
const readVideoContent = createFieldReader(
  z.object({ variant: optional(z.literal('video', 'must be video or absent: no thumbnail or spritesheet is made')) }),
);

/** Returns how many read requests a page counts as: one for each ten jobs of its limit. */
export function weighList({ limit = LIST_DEFAULT }: Record<string, unknown>): number {
  const jobs = Number(limit);
  return jobs >= 1 && jobs <= LIST_MAX ? Math.ceil(jobs / JOBS_OF_A_LOOK_UP) : 1;
}

/** The requested page of a list. */
export interface ListQuery {
  /** The id of the job after which it begins. */
  after?: string;
  limit: number;
  order: 'asc' | 'desc';
}

/** Reads the query of a list; default: 20 a page, the newest first. Throws `invalid_request`. */
export function readListQuery(query: unknown): ListQuery {
  const { after, limit = LIST_DEFAULT, order = 'desc' } = readList(query);
  return { ...(after !== undefined && { after }), limit, order };
}

/** Returns the requested index of an image. Throws `invalid_request`. */
export const readContentIndex = (query: unknown): number => readImageContent(query).index ?? 0;

/** Throws `invalid_request` for any variant but the clip itself, because no other is made. */
export function checkContentVariant(query: unknown): void {
  readVideoContent(query);
}

const LONGEST_WAIT_SECONDS = 30;

/** Returns the client's longest wait for a change (`Prefer: wait=N`, RFC 7240), in milliseconds; undefined without one. */
export function preferredWaitMs({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const preferences = headers.prefer;
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:[;,]|$)/i.exec(String(preferences ?? '')) ?? [];
  return seconds === undefined ? undefined : Math.min(Number(seconds), LONGEST_WAIT_SECONDS) * 1_000;
}

/** Returns the number of the retry, which the usual clients count in a header; 0 for a first try. */
export function readRepeat({ headers }: Pick<IncomingMessage, 'headers'>): number {
  const count = String(headers['x-stainless-retry-count'] ?? '');
  return /^[1-9]\d{0,3}$/.test(count) ? Number(count) : 0;
}
