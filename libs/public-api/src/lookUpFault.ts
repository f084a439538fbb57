import { envelope, flat, type WireError } from './wireError.ts';

/** Look-ups come faster than one key may ask, or one address with keys that nobody has asked with lately. */
export interface LookUpFault {
  kind: 'look_ups_exceeded';
  of: 'key' | 'address';
  retryAfterSeconds: number;
}

export const isLookUpFault = (fault: { kind: string }): fault is LookUpFault => fault.kind === 'look_ups_exceeded';

const WAIT = 'Wait as long as Retry-After says.';
const MESSAGES: Record<LookUpFault['of'], string> = {
  key: `This key looks up more a second than one key may. ${WAIT}`,
  address: `Too many different keys are tried from this address. ${WAIT}`,
};
const toHeaders = ({ retryAfterSeconds }: LookUpFault) => ({ 'retry-after': String(retryAfterSeconds) });

/** Chat, completions, embeddings. */
export const toInferenceLookUpError = (fault: LookUpFault): WireError =>
  envelope(
    429,
    { message: MESSAGES[fault.of], type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    toHeaders(fault),
  );

/** `/v1/svc/*`. */
export const toServiceLookUpError = (fault: LookUpFault): WireError =>
  flat(429, 'rate_limit_exceeded', { message: MESSAGES[fault.of] }, toHeaders(fault));

/** `GET /v1/models`. */
export const toModelsLookUpError = (fault: LookUpFault): WireError =>
  envelope(429, { message: MESSAGES[fault.of], type: 'rate_limit' }, toHeaders(fault));
