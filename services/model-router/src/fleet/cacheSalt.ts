import { createHmac } from 'node:crypto';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { PricedModel } from '../catalog/catalog.ts';

/** Gives the salt of a call: what separates the prefix cache it may read from all others on a shared engine. */
export type CacheSaltOf = (call: {
  workspaceId: string;
  model: Pick<PricedModel, 'id' | 'sharesPrefixCache'>;
}) => string;

/**
 * Makes `cacheSaltOf`: a salt for each workspace, so that nobody learns by its speed what others have asked; one for all on a
 * model whose catalog entry lets workspaces share. Base64url, since engines refuse `/` in a salt.
 */
export function createCacheSalt([key]: NamedSecret[]): CacheSaltOf {
  if (!key) throw new Error('no key to make cache salts with');
  // No workspace id has a space, so no workspace has a model's salt.
  return ({ workspaceId, model }) =>
    createHmac('sha256', key.secret)
      .update(model.sharesPrefixCache ? `model ${model.id}` : workspaceId)
      .digest('base64url');
}
