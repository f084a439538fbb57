/** The checks of a run, by name: of each mutation it is known which of them notice it. */
export type CheckName =
  /** The counters of a workspace in Redis are what its pending calls come to, and none is below zero. */
  | 'pending'
  /** Whenever a call is let in: what calls truly cost and may cost is within credit, budget and cap. */
  | 'limits'
  /** Redis' counters of a workspace, its keys and months are never less than the engines' knowledge. */
  | 'covered'
  /** No other call is given the hold of a call whose router lives, is heard and has not let its session lapse. */
  | 'given up'
  /** Calls are admitted in one Redis at a time. */
  | 'one gate'
  /** Nothing is written into a Redis that is another one than the region's. */
  | 'stranger'
  /** With one part broken for good, the routers that are well admit again in time. */
  | 'live'
  /** Meanwhile the pending calls of a router that is gone are brought to their end. */
  | 'swept'
  /** Once everything is mended, it becomes quiet. */
  | 'quiet'
  /** At the end: one row a call, as it ended. */
  | 'rows'
  /** At the end: the ledger's sums are those of its rows. */
  | 'totals'
  /** At the end: what was charged is within credit, budget and cap. */
  | 'charges'
  /** At the end: Redis has the ledger's sums, and nothing is pending. */
  | 'redis'
  /** A reader of the event log never goes back, but with the database. */
  | 'offsets'
  /** Nothing throws what nobody expects. */
  | 'error';

/** A forbidden observation. */
export class Violation extends Error {
  override name = 'Violation';
  readonly check: CheckName;

  constructor(check: CheckName, message: string) {
    super(message);
    this.check = check;
  }
}
