/** From an hour's begin, and up to another's that is left out. */
export interface HourRange {
  since: Date;
  until: Date;
}

/** How many calls an hour has. */
export interface HourSize {
  hour: Date;
  calls: number;
}

const HOUR_MS = 3_600_000;

/**
 * Splits a range at full hours, so that each part has at most `mostCalls` calls, or is one hour. `hours` are those that have any, in
 * their order; the parts have no gaps between them.
 */
export function splitHours({ since, until }: HourRange, hours: HourSize[], mostCalls: number): HourRange[] {
  const ends: number[] = [];
  let calls = 0;
  for (const { hour, calls: more } of hours) {
    if (calls > 0 && calls + more > mostCalls) {
      ends.push(hour.getTime());
      calls = 0;
    }
    calls += more;
    if (calls >= mostCalls && hour.getTime() + HOUR_MS < until.getTime()) {
      ends.push(hour.getTime() + HOUR_MS);
      calls = 0;
    }
  }
  const bounds = [since, ...ends.map((end) => new Date(end)), until];
  return bounds.slice(1).flatMap((end, nth) => {
    const begin = bounds[nth] as Date;
    return begin < end ? [{ since: begin, until: end }] : [];
  });
}
