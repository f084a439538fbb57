import { createHmac } from 'node:crypto';
import type { NamedSecret } from '@turnpike/config/secrets';

/**
 * Makes `cacheSaltOf(workspaceId)`: what separates one workspace's prefix cache from another's on a shared engine, so
 * that nobody learns by its speed what others have asked. Base64url, since engines refuse `/` in a salt.
 */
export function createCacheSalt([key]: NamedSecret[]): (workspaceId: string) => string {
  if (!key) throw new Error('no key to make cache salts with');
  return (workspaceId) => createHmac('sha256', key.secret).update(workspaceId).digest('base64url');
}
