import type { Stripe } from 'stripe';
import type { StoredObject } from '../state/table.ts';
import { invalid } from './apiFault.ts';

/** A list of an answer with all of its objects. */
export const toList = <T>(data: T[], url: string): Stripe.ApiList<T> => ({
  object: 'list',
  data,
  has_more: false,
  url,
});

interface Page {
  limit: number;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}

/**
 * Returns a page of the objects that match, the newest first. `ending_before` gives those that are newer than the one it names.
 * The named object need not match.
 */
export function toPage<T extends StoredObject>(
  oldestFirst: readonly T[],
  { limit, starting_after: after, ending_before: before }: Page,
  url: string,
  matches: (object: T) => boolean = () => true,
): Stripe.ApiList<T> {
  const objects = oldestFirst.toReversed();
  const indexOf = (id: string, param: string): number => {
    const index = objects.findIndex((each) => each.id === id);
    if (index === -1) throw invalid(`No such object: '${id}'`, { code: 'resource_missing', param, isKept: false });
    return index;
  };
  if (before !== undefined) {
    const newer = objects.slice(0, indexOf(before, 'ending_before')).filter(matches);
    return { object: 'list', data: newer.slice(-limit), has_more: newer.length > limit, url };
  }
  const older = objects.slice(after === undefined ? 0 : indexOf(after, 'starting_after') + 1).filter(matches);
  return { object: 'list', data: older.slice(0, limit), has_more: older.length > limit, url };
}

interface Range {
  gt?: number | undefined;
  gte?: number | undefined;
  lt?: number | undefined;
  lte?: number | undefined;
}

export const isWithin = (at: number, { gt, gte, lt, lte }: Range = {}): boolean =>
  (gt === undefined || at > gt) &&
  (gte === undefined || at >= gte) &&
  (lt === undefined || at < lt) &&
  (lte === undefined || at <= lte);
