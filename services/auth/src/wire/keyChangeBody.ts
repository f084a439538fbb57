import type { KeyChange } from '../keys/keyAudit.ts';

/** A change of a key as members and the operator read it. */
export const toKeyChangeBody = ({ changeId, at, keyId, userId, ...change }: KeyChange) => ({
  change_id: changeId,
  at: at.toISOString(),
  key_id: keyId,
  user_id: userId,
  ...change,
});
