/** A fault: what happened, named in domain terms. */
export interface Fault {
  kind: string;
}

/**
 * Thrown by domain code to refuse a call: says what happened, in domain terms. The wire layer of each family words it. It has
 * no stack: nothing reads one, and to take it is a tenth of what a refusal costs.
 */
export class ApiError<F extends Fault = Fault> extends Error {
  override name = 'ApiError';
  readonly fault: F;

  constructor(fault: F, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(fault.kind, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.fault = fault;
  }
}
