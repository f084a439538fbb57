/** The UTC month of an instant, as `YYYY-MM`. */
export const monthOf = (instant: Date): string => instant.toISOString().slice(0, 7);

export function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(new Date(Date.UTC(year, number)));
}
