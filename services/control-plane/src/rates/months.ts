/** The UTC month of an instant, as `YYYY-MM`. */
export const monthOf = (instant: Date): string => instant.toISOString().slice(0, 7);

function shift(month: string, by: number): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(new Date(Date.UTC(year, number - 1 + by)));
}

export const monthAfter = (month: string): string => shift(month, 1);
export const monthBefore = (month: string): string => shift(month, -1);
