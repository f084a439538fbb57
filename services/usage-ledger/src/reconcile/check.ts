/** The equations of the books, in the words of the report. */
export const CHECKS = {
  rowsAndHours: 'charges: rows = hourly sums',
  rowsAndKeys: 'charges: rows = totals of keys',
  rowsAndWorkspace: 'charges: rows = total of the workspace',
  rowsAndMonths: 'charges: rows = totals of months',
  rowsAndPostings: 'charges: rows = wallet postings',
  keysApart: 'keys whose sums differ',
  hoursApart: 'hourly sums that differ',
  daysApart: 'daily sums that differ',
  callsAndHours: 'calls: rows = hourly sums',
  credits: 'credits given = wallet postings',
  creditsAndWorkspace: 'credits given = total of the workspace',
  balance: 'credits - charges = balance of the wallet',
  repriced: 'charges: rows = priced again',
  mispriced: 'rows with another price',
  sealsApart: 'sealed hours whose rows differ',
  sealedHoursApart: 'hourly sums of sealed hours that differ',
  sealedDaysApart: 'daily sums of all days that differ',
  sealedPostingsApart: 'wallets whose sealed postings differ',
  redisHeld: 'held: Redis = its calls under way',
  redisEnded: 'charged, not recorded: Redis = its ended calls',
  redisPendingApart: 'keys and months whose pending sums differ',
  redisWallet: 'sums in Redis without their wallet',
  redisAhead: 'sums in Redis newer than those of the ledger',
  redisLeft: 'left: Redis = ledger',
  redisSpentApart: 'keys and months whose spend in Redis differs',
  overdue: 'calls long recorded that are still pending',
  ownerless: 'holds without an owner',
} as const;
export type CheckName = keyof typeof CHECKS;

/** One equation of the books of a workspace. */
export interface Check {
  name: CheckName;
  unit: 'nano_usd' | 'count';
  left: bigint;
  right: bigint;
  /** `undecided`: the sides are of different instants. */
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
