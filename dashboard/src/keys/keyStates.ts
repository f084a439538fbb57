import type { Key } from '../console.ts';

export const STATE_NAMES = { active: 'Active', blocked: 'Blocked', expired: 'Expired', revoked: 'Revoked' } as const;
export type State = keyof typeof STATE_NAMES;
export const STATES: readonly State[] = ['active', 'blocked', 'expired', 'revoked'];

/** Returns the state of a key now. An expired key has no status of its own. */
export const stateOf = ({ status, expires_at: expiresAt }: Key): State =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : status;

/** Returns the old secret of a rotated key while it works. */
export const oldSecretOf = ({ old_secret: old, status }: Key): Key['old_secret'] =>
  old !== null && status !== 'revoked' && Date.parse(old.ends_at) > Date.now() ? old : null;

/** The name of keys that the playground makes. */
export const PLAYGROUND_KEY_NAME = 'Playground';

/** Returns whether the playground made the key and is done with it. */
export const isPastPlayground = (key: Key): boolean =>
  key.name === PLAYGROUND_KEY_NAME && ['expired', 'revoked'].includes(stateOf(key));

/** Names a key to a reader of buttons. */
export const toLabel = ({ name, last_four: end }: Key): string => `${name}, sk-...${end}`;

export const COUNT = new Intl.NumberFormat();
