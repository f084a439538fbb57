export const DAY_MS = 86_400_000;

/** The UTC day of an instant, as `2026-01-31`. */
export const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
