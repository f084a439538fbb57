/** The equations of the books, in the words of the report. */
export const CHECKS = {
  rowsAndHours: 'charges: rows = hourly sums',
  rowsAndKeys: 'charges: rows = totals of keys',
  rowsAndWorkspace: 'charges: rows = total of the workspace',
  rowsAndMonths: 'charges: rows = totals of months',
  rowsAndPostings: 'charges: rows = wallet postings',
  keysApart: 'keys whose sums differ',
  hoursApart: 'hourly sums that differ',
  callsAndHours: 'calls: rows = hourly sums',
  credits: 'credits given = wallet postings',
  balance: 'credits - charges = balance of the wallet',
  repriced: 'charges: rows = priced again',
  mispriced: 'rows with another price',
  redisCredited: 'credited: Redis + not asked for yet = ledger',
  redisSpent: 'spent: Redis = ledger + not read yet',
  redisKeys: 'keys whose spend in Redis differs',
  redisMonth: 'spent this month: Redis = ledger + not read yet',
  redisHeld: 'held: Redis = calls in flight',
  admitted: 'calls: admitted = ended + in flight',
  ownerless: 'holds without an owner',
} as const;
export type CheckName = keyof typeof CHECKS;

/** One equation of the books of a workspace. */
export interface Check {
  name: CheckName;
  unit: 'nano_usd' | 'count';
  left: bigint;
  right: bigint;
  /** `undecided`: the sides differ, and what they lack may still be under way. */
  verdict: 'equal' | 'different' | 'undecided';
}

/** All that was found in one workspace. */
export interface WorkspaceReport {
  workspaceId: string;
  checks: Check[];
  /** Why some of it could not be decided, in words for operators. */
  doubts: string[];
}

/** A check of two sums that are of one instant: they are equal, or something is wrong. */
export function toCheck(name: CheckName, unit: Check['unit'], left: bigint, right: bigint): Check {
  return { name, unit, left, right, verdict: left === right ? 'equal' : 'different' };
}
