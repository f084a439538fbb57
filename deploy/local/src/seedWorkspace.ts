import { toKeySha256 } from '@turnpike/api-keys/apiKey';
import { parseSecrets } from '@turnpike/config/secrets';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { parseUsd } from '@turnpike/money/nanoUsd';
import { request } from 'undici';
import { z } from 'zod';
import { StackError } from './stackError.ts';
import type { ServiceUrls } from './toServiceEnvironments.ts';

const ORGANIZATION_ID = 'org_local';
const WORKSPACE_ID = 'ws_local';
const CREDIT_ID = 'credit_local_1';
const TIMEOUT_MS = 5_000;

/** What the seeded workspace can spend. */
export const SEEDED_CREDIT_USD = '25';

export interface SeedOptions {
  auth: ServiceUrls;
  ledger: ServiceUrls;
  apiKey: string;
  /** The `id:secret` list that signs calls between services. */
  internalTokenKeys: string;
}

/**
 * Gives the stack an organization's workspace with credit, and the key, through the services' own interfaces.
 * Done again it changes nothing: a credit id is applied once, and a key is known by its hash.
 */
export async function seedWorkspace({ auth, ledger, apiKey, internalTokenKeys }: SeedOptions): Promise<void> {
  const keys = z.string().transform(parseSecrets).parse(internalTokenKeys);
  const internalHeaders = createTokenIssuer({ service: 'operator', keys });

  async function call(audience: 'auth' | 'usage-ledger', method: 'PUT' | 'POST', url: string, content: object) {
    const { statusCode, body } = await request(url, {
      method,
      headers: { 'content-type': 'application/json', ...internalHeaders(audience) },
      body: JSON.stringify(content),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await body.dump();
    const isKnownAlready = statusCode === 409;
    if (statusCode < 300 || isKnownAlready) return;
    throw new StackError(`${audience} answered ${statusCode} when the stack's workspace was made; its log says why.`);
  }

  const makeKey = async () => {
    await call('auth', 'PUT', `${auth.internalUrl}/internal/workspaces/${WORKSPACE_ID}`, {
      organization_id: ORGANIZATION_ID,
      name: 'Local workspace',
      billing_status: 'active',
      monthly_cap_nano_usd: null,
    });
    await call('auth', 'POST', `${auth.internalUrl}/internal/keys`, {
      key_sha256: toKeySha256(apiKey),
      last_four: apiKey.slice(-4),
      name: 'Local key',
      workspace_id: WORKSPACE_ID,
    });
  };
  const giveCredit = () =>
    call('usage-ledger', 'POST', `${ledger.internalUrl}/internal/credits`, {
      credit_id: CREDIT_ID,
      workspace_id: WORKSPACE_ID,
      amount_nano_usd: parseUsd(SEEDED_CREDIT_USD).toString(),
      note: 'Credit of the local stack',
    });
  await Promise.all([makeKey(), giveCredit()]);
}
