/** A fault: what happened, named in domain terms. */
export interface Fault {
  kind: string;
}

/** Thrown by domain code to refuse a call: says what happened, in domain terms. The wire layer of each family words it. */
export class ApiError<F extends Fault = Fault> extends Error {
  override name = 'ApiError';
  readonly fault: F;

  constructor(fault: F, options?: ErrorOptions) {
    super(fault.kind, options);
    this.fault = fault;
  }
}
