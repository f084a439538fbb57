/** Kinds of failure of a request to the object store. */
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
  /** The store did not respond or continue before the deadline. */
  | 'deadline'
  /** The store refuses connections, closed the connection, or sent another response than the request asks for. */
  | 'broken_off'
  /** The store asks for fewer requests. */
  | 'overloaded'
  /** The store reports a failure of its own: a 5xx or a full disk. */
  | 'failing'
  /** The store rejects the request: wrong credentials, or a deleted bucket. */
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
