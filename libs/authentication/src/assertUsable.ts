import type { Region } from '@turnpike/config/region';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthFault } from '@turnpike/public-api/authFault';

/** Throws an `AuthFault` unless the key may be used in this region now: known, not blocked, of this region. */
export function assertUsable(key: KeyRecord | undefined, region: Region): asserts key is KeyRecord {
  if (!key) throw refuse('invalid_api_key');
  if (key.isBlocked) throw refuse('key_blocked');
  if (key.workspace.region !== region) throw refuse('region_not_served');
}

const refuse = (kind: AuthFault['kind']): ApiError<AuthFault> => new ApiError({ kind });
