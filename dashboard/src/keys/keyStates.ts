import type { KeyState } from '@turnpike/console-api/console/keys';
import type { Key } from '../console.ts';

export const STATE_NAMES: Record<KeyState, string> = {
  active: 'Active',
  blocked: 'Blocked',
  expired: 'Expired',
  revoked: 'Revoked',
};

/** Returns the state of a key now. An expired key has no status of its own. */
export const stateOf = ({ status, expires_at: expiresAt }: Key): KeyState =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : status;

/** Returns the old secret of a rotated key while it works. */
export const oldSecretOf = ({ old_secret: old, status }: Key): Key['old_secret'] =>
  old !== null && status !== 'revoked' && Date.parse(old.ends_at) > Date.now() ? old : null;

export const toKeyName = ({ name, last_four: end }: Key): string => `${name} (sk-...${end})`;

/** Names a key to a reader of buttons. */
export const toLabel = ({ name, last_four: end }: Key): string => `${name}, sk-...${end}`;
