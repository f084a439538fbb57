import { isWellFormedApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthFault } from '@turnpike/public-api/authFault';

const AUTHORIZATION_PATTERN = /^Bearer +([\x21-\x7e]{1,200})$/i;

/**
 * The SHA-256 of the API key in an `Authorization` header: `Bearer` in any case, one or more spaces, the key (RFC 6750, 2.1). Throws an
 * `AuthFault` without a key, and for a key whose checksum is wrong.
 */
export function parseAuthorization(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') throw refuse('missing_authorization');
  const apiKey = AUTHORIZATION_PATTERN.exec(authorization)?.[1];
  if (apiKey === undefined) throw refuse('malformed_authorization');
  if (!isWellFormedApiKey(apiKey)) throw refuse('invalid_api_key');
  return toKeySha256(apiKey);
}

const refuse = (kind: AuthFault['kind']): ApiError<AuthFault> => new ApiError({ kind });
