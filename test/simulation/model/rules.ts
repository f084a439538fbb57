/** The rules of the protocol. An invariant breaks without any one of them: model.deep.test.ts has the length of the shortest trace. */
export const RULES = {
  ID: 'absorb carries the id of the Redis from which it read the pending calls, before the ledger is asked; another Redis refuses it',
  NEWER: 'only newer sums replace sums',
  TIMELINE: 'newer is a matter of timeline and then of seq',
  CATCHUP:
    'after a failover the ledger answers only when it has read the log again up to where it ended at the failover',
  STARTED: 'a database of the ledger that was started again is on a later timeline, whatever its disk says',
  SNAPSHOT: 'sums and recorded calls are of one snapshot',
  SAMESEQ: 'calls recorded as final are dropped also by an answer that is not newer',
  UNKNOWN: 'calls recorded as unknown are dropped too, under OWNER and HELD',
  OWNER: 'an unknown call is dropped only while the session that its pending entry names is not live',
  HELD: 'an unknown call is dropped only while its entry is a hold',
  STAMP: 'a pending entry names a session of its router, and not the router',
  LEASE: 'a session that has lapsed is not renewed: the router puts back and has a new one',
  ADMIT: 'admission names its session, which has to be live',
  PUTID: 'a put-back carries the id of the Redis that was there before the calls were listed',
  PUTONCE: 'a put-back carries the number of the session that was there before the calls were listed, and raises it',
  ENDED: 'ended calls are put back until they leave the spool, and not only running ones',
  BARRIER: 'the gate opens when every live router has put back, or the deadline has fenced it',
  LOADED: 'that sums are loaded holds for one Redis',
  FINAL: 'a final may follow an unknown in the ledger',
  SPOOL: 'a call leaves the spool once it is recorded as final, never as unknown',
  APPLIED: 'a call leaves the spool only when the absorb that says it is final has run in Redis',
  ANSWER: 'a call whose admission was not answered has ended with charge 0, and is in the spool',
} as const;

/** Were tried and are not needed: the protocol is the same with and without them. */
export const NOT_NEEDED = {
  OLDLINE: 'an answer of an older timeline than the stored one is thrown away whole',
  ASKLATE: 'pending calls are read only after the barrier',
  QUIET: 'a router without a session publishes nothing',
  EXISTS: 'settling a call that is not pending does nothing',
} as const;

/** Departures from the protocol; each can be switched on by itself. */
export const VARIANTS = {
  ROUTER_ADMITS:
    'a router checks its session itself, before it asks for an admission and when it has the answer; what is not answered is released',
  LAPSED_SEEN:
    'absorb is told which sessions were seen to have lapsed when the pending calls were read, and does not ask',
  NUMBERED: 'a router makes its session, then lists, and puts back with a number that rises with every list',
  OWN_CALLS:
    'a router asks once it has put back, about its own ended calls and those of lapsed sessions, and not about all that are pending',
  ENDED_SWEPT: 'an ended call of a lapsed session has its event, which Redis keeps, sent to the log',
  ALONE:
    'an ended call that is found to be pending no more, and is in the spool still, is put back alone under the session that lives',
} as const;

/** Rules that a variant has in place of those that it does without. */
export const VARIANT_RULES = {
  RECHECK: 'ROUTER_ADMITS: an admission whose session is not the router’s any more is released when its answer comes',
  ENDFIRST: 'ROUTER_ADMITS: the old session counts no more before the calls are listed',
  TOMBSTONE: 'ROUTER_ADMITS: what was released is not admitted later',
  COMPARED: 'LAPSED_SEEN: the entry has to name the very session that was seen to have lapsed',
  NUMBER: 'NUMBERED: a put-back of an older list, or the same one again, is refused',
  AGAIN:
    'OWN_CALLS (and ALONE with it): ended calls that were put back and have left the spool meanwhile are asked about once more',
} as const;

export type Rule = keyof typeof RULES | keyof typeof NOT_NEEDED | keyof typeof VARIANT_RULES;
export type Rules = Readonly<Record<Rule, boolean>>;
export type Variant = keyof typeof VARIANTS;

export const VARIANT_NAMES = Object.keys(VARIANTS) as Variant[];
export const RULE_NAMES: readonly string[] = [RULES, VARIANT_RULES, NOT_NEEDED].flatMap((some) => Object.keys(some));
export const isRule = (name: string): name is Rule => RULE_NAMES.includes(name);

/** All rules but those in `without`; of those that are not needed, EXISTS and those in `and`. */
export function toRules(without: readonly Rule[] = [], and: readonly Rule[] = []): Rules {
  const isInForce = (name: string): boolean => !(name in NOT_NEEDED) || name === 'EXISTS';
  const rules = Object.fromEntries(RULE_NAMES.map((name) => [name, isInForce(name)]));
  for (const name of without) rules[name] = false;
  for (const name of and) rules[name] = true;
  return rules as Rules;
}
