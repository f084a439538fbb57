import { NEVER_RETRY, retryAfter } from './headers.ts';
import { bare, envelope, flat, gateRejection, throttled, type WireError } from './wireError.ts';

/** Why a caller is not let in: the faults of gate 1, the same for every service that serves the public. */
export type AuthFault =
  | { kind: 'missing_authorization' }
  | { kind: 'malformed_authorization' }
  /** Mistyped, unknown, revoked, expired, or a key of the other region: from outside they are the same. */
  | { kind: 'invalid_api_key' }
  | { kind: 'key_blocked' }
  | { kind: 'region_not_served' }
  /** No verdict within the deadline: fails closed. */
  | { kind: 'auth_unavailable' };

/** Look-ups come faster than one key may ask, or one address with keys that nobody has asked with lately. */
export type LookUpFault = { kind: 'look_ups_exceeded'; retryAfterSeconds: number } & (
  | { of: 'key'; perSecond: number }
  | { of: 'address' }
);

/** Faults of a guard that requires an API key. */
export type GuardFault = AuthFault | LookUpFault;

export interface AuthErrorOptions {
  /** The page where people manage keys, their limits and credit: the `doc_url` of a 401, a 402 and a key's own 429, none if undefined. */
  keysPageUrl: string | undefined;
}

const INVALID_KEY =
  'The API key is not valid here. Check for typing errors, and that you call the host of the key’s own region.';
const NO_KEY = 'Send your API key in the Authorization header, as in "Authorization: Bearer sk-...".';
const BLOCKED = 'This API key is blocked by an administrator.';
const UNAVAILABLE = 'API keys cannot be checked right now. Retry with backoff.';
const WRONG_REGION = 'The organization of this key is pinned to a region that this host does not serve.';

const toLookUpMessage = (fault: LookUpFault): string => {
  const limit =
    fault.of === 'key' ? `${fault.perSecond} look-ups per second for this key` : 'different keys from this address';
  return `Rate limit reached: ${limit}. Retry in ${fault.retryAfterSeconds} s.`;
};

/** A limit by address is not the key's own, so a page about the key does not help. */
const docUrlOf = ({ of }: LookUpFault, { keysPageUrl }: AuthErrorOptions) =>
  of === 'key' ? { doc_url: keysPageUrl } : {};

/** Chat, completions, embeddings. */
export function toInferenceGuardError(fault: GuardFault, options: AuthErrorOptions): WireError {
  switch (fault.kind) {
    case 'missing_authorization':
    case 'malformed_authorization':
    case 'invalid_api_key':
      return envelope(401, {
        message: fault.kind === 'invalid_api_key' ? INVALID_KEY : NO_KEY,
        type: 'authentication_error',
        param: null,
        code: 'invalid_api_key',
        doc_url: options.keysPageUrl,
      });
    case 'key_blocked':
      return envelope(
        403,
        { message: BLOCKED, type: 'permission_error', param: null, code: 'key_blocked' },
        NEVER_RETRY,
      );
    case 'region_not_served':
      return gateRejection(403, { error: 'region_not_served', message: WRONG_REGION });
    case 'auth_unavailable':
      return envelope(
        503,
        { message: UNAVAILABLE, type: 'service_unavailable', param: null, code: 'auth_service_unavailable' },
        retryAfter(1),
      );
    case 'look_ups_exceeded':
      return throttled(toLookUpMessage(fault), retryAfter(fault.retryAfterSeconds), docUrlOf(fault, options));
  }
}

/** `GET /v1/models`. */
export function toModelsGuardError(fault: GuardFault, options: AuthErrorOptions): WireError {
  switch (fault.kind) {
    case 'missing_authorization':
    case 'malformed_authorization':
    case 'invalid_api_key':
      return envelope(401, {
        message: fault.kind === 'invalid_api_key' ? INVALID_KEY : NO_KEY,
        type: 'auth',
        doc_url: options.keysPageUrl,
      });
    case 'key_blocked':
      return envelope(403, { message: BLOCKED, type: 'auth' }, NEVER_RETRY);
    case 'region_not_served':
      return envelope(403, { message: WRONG_REGION, type: 'auth' }, NEVER_RETRY);
    case 'auth_unavailable':
      return bare(502, 'upstream router auth unavailable');
    case 'look_ups_exceeded':
      return envelope(
        429,
        { message: toLookUpMessage(fault), type: 'rate_limit', ...docUrlOf(fault, options) },
        retryAfter(fault.retryAfterSeconds),
      );
  }
}

/** `/v1/images`, `/v1/videos`, `/v1/audio`. */
export function toMediaGuardError(fault: GuardFault, options: AuthErrorOptions): WireError {
  switch (fault.kind) {
    case 'missing_authorization':
    case 'malformed_authorization':
      return flat(401, 'missing_api_key', { message: NO_KEY, doc_url: options.keysPageUrl });
    case 'invalid_api_key':
      return flat(401, 'invalid_api_key', { message: INVALID_KEY, doc_url: options.keysPageUrl });
    case 'key_blocked':
      return envelope(
        403,
        { message: BLOCKED, type: 'permission_error', param: null, code: 'key_blocked' },
        NEVER_RETRY,
      );
    case 'region_not_served':
      return envelope(
        403,
        { message: WRONG_REGION, type: 'permission_error', param: null, code: 'region_not_served' },
        NEVER_RETRY,
      );
    case 'auth_unavailable':
      return flat(503, 'auth_service_unavailable', { message: UNAVAILABLE }, retryAfter(1));
    case 'look_ups_exceeded':
      return flat(
        429,
        'rate_limit_exceeded',
        { message: toLookUpMessage(fault), ...docUrlOf(fault, options) },
        retryAfter(fault.retryAfterSeconds),
      );
  }
}

const SERVICE_MESSAGES = { invalid_api_key: INVALID_KEY, key_blocked: BLOCKED, region_not_served: WRONG_REGION };

/** `/v1/svc/*`. A blocked key is 401 here, as the look-ups have no 403; the sentence and the code say that it is blocked. */
export function toServiceGuardError(fault: GuardFault, options: AuthErrorOptions): WireError {
  switch (fault.kind) {
    case 'missing_authorization':
    case 'malformed_authorization':
      return flat(401, fault.kind, { message: NO_KEY, doc_url: options.keysPageUrl });
    case 'invalid_api_key':
    case 'key_blocked':
    case 'region_not_served':
      return envelope(401, {
        message: SERVICE_MESSAGES[fault.kind],
        type: 'authentication_error',
        param: null,
        code: fault.kind,
        doc_url: options.keysPageUrl,
      });
    case 'auth_unavailable':
      return envelope(
        503,
        { message: UNAVAILABLE, type: 'service_unavailable', code: 'auth_service_unavailable' },
        retryAfter(1),
      );
    case 'look_ups_exceeded':
      return flat(
        429,
        'rate_limit_exceeded',
        { message: toLookUpMessage(fault), ...docUrlOf(fault, options) },
        retryAfter(fault.retryAfterSeconds),
      );
  }
}
