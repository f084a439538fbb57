/** What became of a request to the object store, in terms that its users act on. */
export type ObjectStoreErrorKind =
  /** There is no object of that key. */
  | 'missing'
  /** There is one already: an object is written once. */
  | 'exists'
  /** The stream is longer than it may be. */
  | 'too_large'
  /** The stream is not as long as was promised. */
  | 'wrong_length'
  /** The stream gave nothing for too long. */
  | 'stalled'
  /** The store did not do it, and may another time. A put may have taken effect all the same. */
  | 'unavailable';

/** Why a store is unavailable, for logs and metrics. */
export type UnavailableReason =
  /** It did not answer, or did not go on, in time. */
  | 'deadline'
  /** It cannot be connected to, broke off, or gave another answer than was asked for. */
  | 'broken_off'
  /** It wants to be asked less. */
  | 'overloaded'
  /** It says that it does not work: a 5xx, a full disk. */
  | 'failing'
  /** It refuses: wrong credentials, a bucket that has gone. */
  | 'refused';

/** Its message never names the store, its host or the object; the `cause` may, and is for logs alone. */
export class ObjectStoreError extends Error {
  override name = 'ObjectStoreError';
  readonly kind: ObjectStoreErrorKind;
  readonly reason: UnavailableReason | undefined;

  constructor(
    kind: ObjectStoreErrorKind,
    { reason, cause }: { reason?: UnavailableReason | undefined; cause?: unknown } = {},
  ) {
    super(`object store: ${kind}${reason ? ` (${reason})` : ''}`, { cause });
    this.kind = kind;
    this.reason = reason;
  }
}

/** A store that did not do what was asked. */
export const unavailable = (reason: UnavailableReason, cause?: unknown): ObjectStoreError =>
  new ObjectStoreError('unavailable', { reason, cause });
