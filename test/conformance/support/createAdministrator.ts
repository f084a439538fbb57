import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toKeySha256 } from '@turnpike/api-keys/apiKey';
import { parseSecrets } from '@turnpike/config/secrets';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { z } from 'zod';
import type { TestStack } from '../../support/startTestStack.ts';

/** What an administrator does to keys, workspaces and models, through the services' internal interfaces. */
export interface Administrator {
  changeKey(apiKey: string, change: 'revoke' | 'block' | 'unblock'): Promise<void>;
  capWorkspace(workspaceId: string, nanoUsd: bigint | null): Promise<void>;
  switchModel(model: string, change: 'disable' | 'enable'): Promise<void>;
}

const verdictSchema = z.object({ key: z.object({ keyId: z.string() }) });

export async function createAdministrator({ stateDir, running }: TestStack): Promise<Administrator> {
  const secrets = z
    .object({ internalTokenKeys: z.string().transform(parseSecrets) })
    .parse(JSON.parse(await readFile(join(stateDir, 'secrets.json'), 'utf8')));
  const headersFor = createTokenIssuer({ service: 'operator', keys: secrets.internalTokenKeys });
  const { services } = running.stack.regions.us;

  async function call(service: 'auth' | 'catalog', method: 'POST' | 'PUT', path: string, body: object) {
    const response = await fetch(`${services[service].internal_url}/internal${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headersFor(service) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${service} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }

  return {
    async changeKey(apiKey, change) {
      const { key } = verdictSchema.parse(
        await call('auth', 'POST', '/keys/verify', { key_sha256: toKeySha256(apiKey) }),
      );
      await call('auth', 'POST', `/keys/${key.keyId}/${change}`, {});
    },
    async capWorkspace(workspaceId, nanoUsd) {
      const body = { monthly_cap_nano_usd: nanoUsd === null ? null : nanoUsd.toString() };
      await call('auth', 'PUT', `/workspaces/${workspaceId}/cap`, body);
    },
    async switchModel(model, change) {
      await call('catalog', 'POST', `/models/${model}/${change}`, {});
    },
  };
}
