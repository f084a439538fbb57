import { expect, it } from '@jest/globals';
import { createCacheSalt } from './promptPrefix.ts';

const separate = { id: 'small-chat', sharesPrefixCache: false };
const shared = { id: 'small-chat', sharesPrefixCache: true };
const cacheSaltOf = createCacheSalt([{ id: 'k1', secret: 'a secret of some length' }]);

it('is the same for all calls of a workspace, and another for each workspace', () => {
  const salt = cacheSaltOf({ workspaceId: 'a', model: separate });
  expect(cacheSaltOf({ workspaceId: 'a', model: separate })).toBe(salt);
  expect(cacheSaltOf({ workspaceId: 'b', model: separate })).not.toBe(salt);
});

it('is one for all workspaces on a model that lets them share, and no other model’s', () => {
  const salt = cacheSaltOf({ workspaceId: 'a', model: shared });
  expect(cacheSaltOf({ workspaceId: 'b', model: shared })).toBe(salt);
  expect(cacheSaltOf({ workspaceId: 'a', model: { ...shared, id: 'large-chat' } })).not.toBe(salt);
  expect(cacheSaltOf({ workspaceId: 'a', model: separate })).not.toBe(salt);
});

it('cannot be made without the secret, and has no slash, which engines refuse', () => {
  const other = createCacheSalt([{ id: 'k1', secret: 'another secret' }]);
  const call = { workspaceId: 'a', model: separate };
  expect(other(call)).not.toBe(cacheSaltOf(call));
  expect(cacheSaltOf(call)).toMatch(/^[\w-]{43}$/);
});
