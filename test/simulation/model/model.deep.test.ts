import { describe, expect, it } from '@jest/globals';
import type { Invariant } from './invariants.ts';
import { FAULT_KINDS, FAULT_PAIRS, type FaultKind, type Protocol, SMALL } from './protocol.ts';
import { type RULES, type Rule, toRules, VARIANT_NAMES, type VARIANT_RULES, type Variant } from './rules.ts';
import { search } from './search.ts';

// The balances' protocol by every order of its steps: see README.md. Larger bounds by `npm run simulate -- --model`.

describe('with all rules', () => {
  it.each(FAULT_PAIRS.map((kinds) => [kinds.join(' and '), kinds] as const))(
    'no invariant breaks under %s',
    (_, kinds) => {
      // Few steps follow where no router and no Redis breaks.
      const faults = kinds.every((kind) => kind === 'failover' || kind === 'setback') ? 3 : SMALL.faults;
      const { broken, isComplete, states, depth } = search({ ...SMALL, faults, rules: toRules(), kinds });
      expect(broken).toBeUndefined();
      expect(isComplete).toBe(true);
      // A fault that is not reached proves nothing.
      expect(states).toBeGreaterThan(2_500);
      expect(depth).toBeGreaterThan(11);
    },
  );

  it.each(['failover', 'setback'] as const)('no invariant breaks where a %s loses a credit', (kind) => {
    const bounds: Partial<Protocol> = { hasCredits: true, isSafetyAlone: true };
    const { broken, isComplete } = search({ ...SMALL, ...bounds, rules: toRules(), kinds: [kind] });
    expect(broken).toBeUndefined();
    expect(isComplete).toBe(true);
  });
});

/** The faults without which nothing breaks, the invariant that does, and the steps to it: the fewest under any pair of faults. */
const WITHOUT: Record<keyof typeof RULES, [faults: FaultKind[], Invariant, steps: number, bounds?: Partial<Protocol>]> =
  {
    ID: [['laggard', 'lost'], 'covered', 11],
    NEWER: [[], 'covered', 7],
    TIMELINE: [['failover'], 'covered', 8, { hasCredits: true, isSafetyAlone: true }],
    CATCHUP: [['failover'], 'covered', 7],
    STARTED: [['setback'], 'covered', 9, { hasCredits: true, isSafetyAlone: true }],
    SNAPSHOT: [[], 'covered', 7],
    SAMESEQ: [[], 'exact', 1],
    UNKNOWN: [['crash'], 'exact', 2],
    OWNER: [['lapse'], 'covered', 7],
    HELD: [['lapse'], 'covered', 7],
    STAMP: [['crash'], 'exact', 2],
    LEASE: [['lapse'], 'covered', 8],
    ADMIT: [['crash'], 'covered', 6],
    PUTID: [['lapse', 'lost'], 'covered', 10],
    PUTONCE: [['lapse'], 'covered', 8],
    ENDED: [['laggard', 'lost'], 'covered', 7],
    BARRIER: [['lost'], 'covered', 6],
    LOADED: [['restored'], 'covered', 3],
    FINAL: [['lapse'], 'exact', 4],
    SPOOL: [['lapse'], 'recorded', 6],
    APPLIED: [['laggard', 'lost'], 'covered', 10],
    ANSWER: [[], 'exact', 1],
  };

describe('without the rule', () => {
  it.each(Object.keys(WITHOUT) as (keyof typeof WITHOUT)[])('%s, an invariant breaks', (rule) => {
    const [kinds, invariant, steps, bounds] = WITHOUT[rule];
    const { broken, trace } = search({ ...SMALL, ...bounds, rules: toRules([rule]), kinds });
    expect(broken?.invariant).toBe(invariant);
    expect(trace).toHaveLength(steps);
  });
});

describe('with what is done otherwise than the protocol says', () => {
  it.each([...VARIANT_NAMES.map((name) => [name, [name]] as const), ['all of it', VARIANT_NAMES] as const])(
    '%s: no invariant breaks under any one fault',
    (_, variants) => {
      const { broken, isComplete, states } = search({
        ...SMALL,
        variants,
        rules: toRules(),
        kinds: FAULT_KINDS,
        faults: 1,
      });
      expect(broken).toBeUndefined();
      expect(isComplete).toBe(true);
      expect(states).toBeGreaterThan(1_000);
    },
  );
});

/** The same numbers with one kind of fault. */
const WITHOUT_IN_VARIANT: Record<
  keyof typeof VARIANT_RULES,
  [variant: Variant, faults: FaultKind[], Invariant, steps: number]
> = {
  RECHECK: ['ROUTER_ADMITS', ['lapse'], 'covered', 9],
  ENDFIRST: ['ROUTER_ADMITS', ['lapse'], 'covered', 9],
  TOMBSTONE: ['ROUTER_ADMITS', [], 'exact', 4],
  COMPARED: ['LAPSED_SEEN', ['lapse'], 'covered', 8],
  NUMBER: ['NUMBERED', ['lapse'], 'covered', 12],
  AGAIN: ['OWN_CALLS', ['lapse'], 'exact', 9],
};

describe('done otherwise, and without the rule', () => {
  it.each(Object.keys(WITHOUT_IN_VARIANT) as (keyof typeof WITHOUT_IN_VARIANT)[])('%s, an invariant breaks', (rule) => {
    const [variant, kinds, invariant, steps] = WITHOUT_IN_VARIANT[rule];
    const { broken, trace } = search({ ...SMALL, variants: [variant], rules: toRules([rule]), kinds });
    expect(broken?.invariant).toBe(invariant);
    expect(trace).toHaveLength(steps);
  });
});

it('ALONE needs AGAIN as well, where a router asks about its own calls alone: no fault takes part', () => {
  const { broken, trace } = search({
    ...SMALL,
    variants: ['OWN_CALLS', 'ALONE'],
    rules: toRules(['AGAIN']),
    kinds: [],
  });
  expect(broken?.invariant).toBe('exact');
  expect(trace).toHaveLength(7);
});

const NOT_NEEDED: [name: string, without: Rule[], and: Rule[]][] = [
  ['EXISTS', ['EXISTS'], []],
  ['OLDLINE', [], ['OLDLINE']],
  ['ASKLATE', [], ['ASKLATE']],
  ['QUIET', [], ['QUIET']],
];

it.each(NOT_NEEDED)('%s changes nothing that has to hold', (_, without, and) => {
  const { broken } = search({ ...SMALL, rules: toRules(without, and), kinds: ['lapse', 'lost'] });
  expect(broken).toBeUndefined();
});

it.each(['crash', 'lapse', 'laggard'] as const)(
  'an exception is real: without them, %s breaks the first invariant',
  (kind) => {
    const { broken } = search({ ...SMALL, isStrict: true, rules: toRules(), kinds: ['lost', kind] });
    expect(broken?.invariant).toBe('covered');
  },
);

it.each(['lost', 'restored', 'failover', 'setback'] as const)('%s alone needs no exception', (kind) => {
  const { broken } = search({ ...SMALL, isStrict: true, rules: toRules(), kinds: [kind] });
  expect(broken).toBeUndefined();
});
