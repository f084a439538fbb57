const EXPONENTS: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9 };

/** A number as Kubernetes writes it: `350m` is 0.35, `1k` is 1,000. */
export function parseQuantity(text: string): number {
  const [, digits, suffix] = /^(-?\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const exponent = EXPONENTS[suffix ?? ''];
  if (digits === undefined || exponent === undefined) throw new Error(`${text} is no quantity`);
  return Number(`${digits}e${exponent}`);
}
