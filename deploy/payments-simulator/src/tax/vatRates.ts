/** Standard rates of VAT in basis points, as of November 2026. */
export const VAT_BASIS_POINTS: Readonly<Record<string, number>> = {
  AT: 2000,
  BE: 2100,
  BG: 2000,
  CY: 1900,
  CZ: 2100,
  DE: 1900,
  DK: 2500,
  EE: 2400,
  ES: 2100,
  FI: 2550,
  FR: 2000,
  GR: 2400,
  HR: 2500,
  HU: 2700,
  IE: 2300,
  IT: 2200,
  LT: 2100,
  LU: 1700,
  LV: 2100,
  MT: 1800,
  NL: 2100,
  PL: 2300,
  PT: 2300,
  RO: 2100,
  SE: 2500,
  SI: 2200,
  SK: 2300,
};

/** Sales taxes of a few states in basis points: the state's own and an average of its districts. */
export const SALES_TAX_BASIS_POINTS: Readonly<Record<string, number>> = {
  NY: 888,
  PA: 600,
  TX: 825,
  WA: 1035,
};

export const isInEuVat = (country: string): boolean => country in VAT_BASIS_POINTS;
