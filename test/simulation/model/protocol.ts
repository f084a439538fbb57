import type { Rules, Variant } from './rules.ts';

/** Kinds of faults. */
export const FAULT_KINDS = ['crash', 'lapse', 'laggard', 'lost', 'restored', 'failover', 'setback'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A laggard is late for a barrier, and only a Redis that was lost has one. */
export const FAULT_PAIRS: readonly (readonly [FaultKind, FaultKind])[] = FAULT_KINDS.flatMap((one, at) =>
  FAULT_KINDS.slice(at + 1).map((other) => [one, other] as const),
).filter(([one, other]) => one !== 'laggard' || other === 'lost' || other === 'restored');

/** The hold of a call. */
export const WORST = 2;
/** Sets of calls, and two credits, are kept in a byte. */
export const MOST_CALLS = 6;

/** The protocol, and how far it is searched. */
export interface Protocol {
  readonly rules: Rules;
  /** Departures from the protocol. */
  readonly variants: readonly Variant[];
  readonly calls: number;
  /** Possible costs of a call; at most its hold. */
  readonly charges: readonly number[];
  /** The first credit of the workspace. */
  readonly credit: number;
  /** Whether the ledger also takes one credit up and one down. */
  readonly hasCredits: boolean;
  /** How many faults there are at most, and of which kinds. */
  readonly faults: number;
  readonly kinds: readonly FaultKind[];
  /** How many routers may have an absorb under way for any length of time. Every router also absorbs at once. */
  readonly absorbs: number;
  /** Whether reading the pending calls and asking the ledger are two steps. */
  readonly isAbsorbSplit: boolean;
  /** Whether I1 and I2 alone are checked. */
  readonly isSafetyAlone: boolean;
  /** Whether I1 is checked without its exceptions, which shows that each of them is real. */
  readonly isStrict: boolean;
}

export const SMALL: Omit<Protocol, 'rules' | 'kinds'> = {
  variants: [],
  calls: 1,
  charges: [0, WORST],
  credit: 2 * WORST,
  hasCredits: false,
  faults: 2,
  absorbs: 1,
  isAbsorbSplit: false,
  isSafetyAlone: false,
  isStrict: false,
};
