/** The error of an answer, as the processor writes it. */
export interface ErrorBody {
  type: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error' | 'rate_limit_error';
  message: string;
  code?: string;
  decline_code?: string;
  param?: string;
  charge?: string;
  payment_intent?: object;
  payment_method?: object;
}

/** A request that the API refuses. */
export class ApiFault extends Error {
  override name = 'ApiFault';
  readonly status: number;
  readonly body: ErrorBody;
  /** Whether the answer is kept under the idempotency key. The processor keeps none of a request that did not begin. */
  readonly isKept: boolean;

  constructor(status: number, body: ErrorBody, { isKept = true }: { isKept?: boolean } = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.isKept = isKept;
  }
}

interface InvalidOptions {
  status?: number;
  code?: string;
  param?: string;
  isKept?: boolean;
}

/** Makes the fault of a request that the state of the processor does not allow. */
export function invalid(message: string, { status = 400, code, param, isKept }: InvalidOptions = {}): ApiFault {
  return new ApiFault(
    status,
    { type: 'invalid_request_error', message, ...(code && { code }), ...(param && { param }) },
    isKept === undefined ? {} : { isKept },
  );
}
