import { randomBytes } from 'node:crypto';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { TestAuth } from './startAuth.ts';

const anId = (prefix: string): string => `${prefix}_${randomBytes(8).toString('hex')}`;

/** The SHA-256 of a key that nobody has. */
export const aKeyHash = (): string => randomBytes(32).toString('hex');

/** The body of a workspace like any other. */
export const aWorkspace = (changes: object = {}) => ({
  organization_id: anId('org'),
  name: 'A workspace',
  billing_status: 'active',
  monthly_cap_nano_usd: null,
  ...changes,
});

/** A workspace that auth knows. */
export async function putAWorkspace(auth: TestAuth, changes: object = {}) {
  const workspaceId = anId('ws');
  const body = aWorkspace(changes);
  await auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, body);
  return { workspaceId, body };
}

/** A key that auth knows, in a workspace of its own unless one is named. */
export async function registerAKey(auth: TestAuth, changes: { workspace_id?: string; [field: string]: unknown } = {}) {
  const apiKey = generateApiKey();
  const workspaceId = changes.workspace_id ?? (await putAWorkspace(auth)).workspaceId;
  const registration = {
    key_sha256: toKeySha256(apiKey),
    last_four: apiKey.slice(-4),
    name: 'A key',
    workspace_id: workspaceId,
    ...changes,
  };
  const { body } = await auth.callInternal('POST', '/internal/keys', registration);
  return { apiKey, workspaceId, registration, keyId: String(body.key_id) };
}

/** The record of a key for other services. */
export async function verify(auth: TestAuth, apiKey: string) {
  const { status, body } = await auth.callInternal('POST', '/internal/keys/verify', {
    key_sha256: toKeySha256(apiKey),
  });
  return { status, key: body.key };
}
