import { randomUUID } from 'node:crypto';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import { signsWith } from '@turnpike/internal-api/aCaller';
import { parseUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';

export interface NewWorkspace {
  creditUsd?: string;
  billingStatus?: 'active' | 'on_hold' | 'not_provisioned';
  monthlyCapUsd?: string;
}

export interface NewKey {
  rpm?: number;
  tpm?: number;
  maxBudgetUsd?: string;
  periodBudget?: { period: 'day' | 'week' | 'month'; maxUsd: string };
  allowedModels?: string[];
  expiresAt?: string;
}

/** Operations on keys, workspaces and models of a stack, through the services' internal interfaces. */
export interface Operator {
  makeWorkspace(workspace?: NewWorkspace): Promise<string>;
  addCredit(workspaceId: string, usd: string): Promise<void>;
  makeKey(workspaceId: string, key?: NewKey): Promise<string>;
  /** A key of a workspace of its own with 10 USD. */
  makeFundedKey(key?: NewKey, workspace?: NewWorkspace): Promise<string>;
  changeKey(apiKey: string, change: 'revoke' | 'block' | 'unblock'): Promise<void>;
  /** A new secret of a key; the old one works for so long. */
  rotateKey(apiKey: string, graceSeconds: number): Promise<string>;
  /** Ends the secret that a key had before it was rotated, found by the one it has now. */
  endOldSecret(apiKey: string): Promise<void>;
  capWorkspace(workspaceId: string, nanoUsd: bigint): Promise<void>;
  switchModel(model: string, change: 'disable' | 'enable'): Promise<void>;
}

const verdictSchema = z.object({ key: z.object({ keyId: z.string() }) });

interface Services {
  auth: { internal_url: string };
  catalog: { internal_url: string };
  'usage-ledger': { internal_url: string };
}

export function createOperator({ services, operatorKey }: { services: Services; operatorKey: string }): Operator {
  const internalHeaders = signsWith(signingKeySchema.parse(operatorKey));

  async function call(service: keyof Services, method: string, path: string, body: object): Promise<unknown> {
    const response = await fetch(`${services[service].internal_url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(await internalHeaders(service, `${method} ${path}`)) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${service} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }

  async function keyIdOf(apiKey: string): Promise<string> {
    const verdict = await call('auth', 'POST', '/internal/keys/verify', { key_sha256: toKeySha256(apiKey) });
    return verdictSchema.parse(verdict).key.keyId;
  }

  // Auth has few connections for administration: of many keys at once on a busy machine, the last would wait for longer than it lets them.
  let lastKey: Promise<unknown> = Promise.resolve();

  const operator: Operator = {
    async makeWorkspace({ creditUsd, billingStatus = 'active', monthlyCapUsd } = {}) {
      const workspaceId = `ws_${randomUUID()}`;
      await call('auth', 'PUT', `/internal/workspaces/${workspaceId}`, {
        organization_id: `org_${randomUUID()}`,
        name: 'Test workspace',
        billing_status: billingStatus,
        monthly_cap_nano_usd: monthlyCapUsd === undefined ? null : parseUsd(monthlyCapUsd).toString(),
      });
      if (creditUsd !== undefined) await operator.addCredit(workspaceId, creditUsd);
      return workspaceId;
    },
    async addCredit(workspaceId, usd) {
      await call('usage-ledger', 'POST', '/internal/credits', {
        credit_id: randomUUID(),
        workspace_id: workspaceId,
        amount_nano_usd: parseUsd(usd).toString(),
        note: 'test',
      });
    },
    async makeKey(workspaceId, { rpm, tpm, maxBudgetUsd, periodBudget, allowedModels, expiresAt } = {}) {
      const apiKey = generateApiKey();
      const body = {
        key_sha256: toKeySha256(apiKey),
        last_four: apiKey.slice(-4),
        name: 'Test key',
        workspace_id: workspaceId,
        ...(rpm !== undefined && { rpm }),
        ...(tpm !== undefined && { tpm }),
        ...(maxBudgetUsd !== undefined && { max_budget_nano_usd: parseUsd(maxBudgetUsd).toString() }),
        ...(periodBudget && {
          period_budget: { period: periodBudget.period, max_nano_usd: parseUsd(periodBudget.maxUsd).toString() },
        }),
        ...(allowedModels !== undefined && { allowed_models: allowedModels }),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      };
      const made = lastKey.then(() => call('auth', 'POST', '/internal/keys', body));
      lastKey = made.catch(() => undefined);
      await made;
      return apiKey;
    },
    async makeFundedKey(key, workspace = { creditUsd: '10' }) {
      return operator.makeKey(await operator.makeWorkspace(workspace), key);
    },
    async changeKey(apiKey, change) {
      await call('auth', 'POST', `/internal/keys/${await keyIdOf(apiKey)}/${change}`, {});
    },
    async rotateKey(apiKey, graceSeconds) {
      const newApiKey = generateApiKey();
      await call('auth', 'POST', `/internal/keys/${await keyIdOf(apiKey)}/rotate`, {
        key_sha256: toKeySha256(newApiKey),
        last_four: newApiKey.slice(-4),
        grace_seconds: graceSeconds,
      });
      return newApiKey;
    },
    async endOldSecret(apiKey) {
      await call('auth', 'POST', `/internal/keys/${await keyIdOf(apiKey)}/end-old-secret`, {});
    },
    async capWorkspace(workspaceId, nanoUsd) {
      const body = { monthly_cap_nano_usd: nanoUsd.toString() };
      await call('auth', 'PUT', `/internal/workspaces/${workspaceId}/cap`, body);
    },
    async switchModel(model, change) {
      await call('catalog', 'POST', `/internal/models/${model}/${change}`, {});
    },
  };
  return operator;
}
