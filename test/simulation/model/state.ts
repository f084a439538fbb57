import type { Protocol } from './protocol.ts';
import { type Fields, flag, number, oneOf, type View, type ViewClass, viewOf } from './views.ts';

const pending = oneOf('none', 'held', 'ended');
const record = oneOf('none', 'unknown', 'final');

const CallView = viewOf({
  /** `asked` and `releasing` with ROUTER_ADMITS alone, as what follows. */
  phase: oneOf('free', 'running', 'ended', 'lost', 'asked', 'releasing', 'refused'),
  admission: oneOf('none', 'sent', 'ran'),
  /** Whether it names the newest session of its router, and whether its router takes the answer for one of that. */
  isAskedInNewestSession: flag,
  passesRecheck: flag,
  owner: number,
  charge: number,
  isSpooled: flag,
  /** In the event log. */
  isFinalSent: flag,
  isUnknownSent: flag,
  /** In the ledger, and there before its last commit. */
  record,
  recordBefore: record,
  /** In the snapshot of its disk. */
  recordCopied: record,
  /** In Redis: the entry, and whether it names the newest session of its router. */
  pending,
  isOfNewestSession: flag,
  /** With ALONE: it is being put back alone, and whether under the newest session of its router. */
  isAloneUnderWay: flag,
  isAloneOfNewestSession: flag,
  /** The same as Redis saved it. */
  savedPending: pending,
  isSavedOfNewestSession: flag,
  /** One of the stated exceptions of I1. */
  isExcused: flag,
});

const RouterView = viewOf({
  isUp: flag,
  hasSession: flag,
  /** Started again, and has not put back since. */
  isRestarted: flag,
  /** The put-back under way: `ran` may run again, `stale` is for a Redis that is gone. */
  putBack: oneOf('none', 'listed', 'ran', 'stale'),
  isPutBackOfOlderProcess: flag,
  listedRunning: number,
  listedEnded: number,
  /** With NUMBERED alone: it has a session, and has not put back under it. */
  hasToPutBack: flag,
  isListOfNewestSession: flag,
  /** With NUMBERED alone: a put-back of an older list. */
  isOlderUnderWay: flag,
  isOlderOfNewestSession: flag,
  olderRunning: number,
  olderEnded: number,
  /** With OWN_CALLS alone: what was put back as ended and is in the spool no more. */
  toAskAgain: number,
  /** The session as Redis saved it. */
  hadSession: flag,
});

// The id of Redis is no field: what carries an older one is refused, and so is forgotten.
const RedisView = viewOf({
  isBarrierPassed: flag,
  isLoaded: flag,
  hasSums: flag,
  timeline: number,
  seq: number,
  sums: number,
});

const SavedView = viewOf({ exists: flag, isOpen: flag, hasSums: flag, timeline: number, seq: number, sums: number });

const LedgerView = viewOf({
  timeline: number,
  seq: number,
  hasCreditUp: flag,
  hasCreditDown: flag,
  /** Calls that the log had as final when this timeline began. */
  toReadAgain: number,
});

const BeforeView = viewOf({ exists: flag, seq: number, hasCreditUp: flag, hasCreditDown: flag });

const CopyView = viewOf({ exists: flag, timeline: number, seq: number, hasCreditUp: flag, hasCreditDown: flag });

const AbsorbView = viewOf({
  stage: oneOf('none', 'reading', 'answered'),
  asked: number,
  timeline: number,
  seq: number,
  sums: number,
  finals: number,
  unknowns: number,
  /** With LAPSED_SEEN alone: calls under a session that was seen to have lapsed. */
  lapsed: number,
});

const FaultsView = viewOf({ left: number, wasRedisLost: flag });

export type Call = InstanceType<typeof CallView>;
export type Router = InstanceType<typeof RouterView>;
export type Absorb = InstanceType<typeof AbsorbView>;
/**
 * The ledger's answer, in one snapshot, about the calls in `asked`; `lapsed` is of Redis. Sets are bits, by the calls' indices.
 */
export type Answer = Pick<Absorb, 'asked' | 'timeline' | 'seq' | 'sums' | 'finals' | 'unknowns' | 'lapsed'>;

const ROUTERS = 2;

export const bitOf = ({ index }: { index: number }): number => 1 << index;
export const isIn = (set: number, one: { index: number }): boolean => (set & bitOf(one)) !== 0;

/** All that the protocol knows at an instant: a row of bytes, and views to read and change it. */
export class State {
  readonly protocol: Protocol;
  readonly bytes: Uint8Array;
  /** The same row by four bytes each, as it is kept and compared. */
  readonly words: Int32Array;
  readonly calls: readonly Call[];
  readonly routers: readonly Router[];
  readonly redis: InstanceType<typeof RedisView>;
  /** Redis as it is on its disk. */
  readonly saved: InstanceType<typeof SavedView>;
  readonly ledger: InstanceType<typeof LedgerView>;
  /** The ledger before its last commit. */
  readonly before: InstanceType<typeof BeforeView>;
  /** A snapshot of the ledger's disk. */
  readonly copy: InstanceType<typeof CopyView>;
  /** Those under way, each of the router with its index. */
  readonly absorbs: readonly Absorb[];
  readonly faults: InstanceType<typeof FaultsView>;

  constructor(protocol: Protocol) {
    const { calls, absorbs } = protocol;
    const single = [RedisView, SavedView, LedgerView, BeforeView, CopyView, FaultsView];
    const singles = single.reduce((sum, { size }) => sum + size, 0);
    const size = calls * CallView.size + ROUTERS * RouterView.size + absorbs * AbsorbView.size + singles;
    const words = new Int32Array(Math.ceil(size / Int32Array.BYTES_PER_ELEMENT));
    const bytes = new Uint8Array(words.buffer);
    let at = 0;
    function view<F extends Fields>(Kind: ViewClass<F>, index = 0): View<F> {
      at += Kind.size;
      return new Kind(bytes, at - Kind.size, index);
    }
    this.protocol = protocol;
    this.bytes = bytes;
    this.words = words;
    this.calls = Array.from({ length: calls }, (_, index) => view(CallView, index));
    this.routers = Array.from({ length: ROUTERS }, (_, index) => view(RouterView, index));
    this.redis = view(RedisView);
    this.saved = view(SavedView);
    this.ledger = view(LedgerView);
    this.before = view(BeforeView);
    this.copy = view(CopyView);
    this.absorbs = Array.from({ length: absorbs }, (_, index) => view(AbsorbView, index));
    this.faults = view(FaultsView);
  }

  call({ index }: { index: number }): Call {
    return getAt(this.calls, index);
  }

  router(index: number): Router {
    return getAt(this.routers, index);
  }

  ownerOf({ owner }: Call): Router {
    return getAt(this.routers, owner);
  }

  /** The calls for which `test` holds. */
  setOf(test: (call: Call) => boolean): number {
    let set = 0;
    for (const call of this.calls) if (test(call)) set |= bitOf(call);
    return set;
  }

  /** Two routers with sessions, an open gate, nothing under way. */
  begin(): this {
    this.bytes.fill(0);
    for (const router of this.routers) [router.isUp, router.hasSession] = [true, true];
    this.redis.isBarrierPassed = true;
    this.redis.isLoaded = true;
    this.redis.hasSums = true;
    this.faults.left = this.protocol.faults;
    return this;
  }
}

function getAt<T>(list: readonly T[], index: number): T {
  const one = list[index];
  if (one === undefined) throw new Error(`there is no number ${index} among ${list.length}`);
  return one;
}
