const DAY_MS = 24 * 60 * 60 * 1_000;

/** A usage query's range of days with today in the middle: a day, or a month, may end between calls and their look-up. */
export function daysAroundNow(): string {
  const day = (offset: number) => new Date(Date.now() + offset * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);
  return `start=${day(-1)}&end=${day(2)}`;
}
