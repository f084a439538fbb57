import { randomUUID } from 'node:crypto';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import type { InternalService } from '@turnpike/config/services';
import { signsWith } from '@turnpike/internal-api/aCaller';
import { request } from 'undici';
import { z } from 'zod';
import type { LoadKey } from '../load/startLoad.ts';

const TIMEOUT_MS = 5_000;
/** No cell is about the rate limits. */
const UNLIMITED = 1_000_000_000;

const enginesSchema = z.object({
  engines: z.array(
    z.object({
      id: z.string(),
      target: z.string(),
      state: z.string(),
      breaker: z.string(),
      is_healthy: z.boolean(),
      open_calls: z.number(),
      tokens_in_flight: z.number(),
    }),
  ),
});

/** An operator's actions on a broken stack: through the services' internal interfaces, without any proxy. */
export type Operator = ReturnType<typeof createOperator>;

export function createOperator(services: Record<InternalService, { internal_url: string }>, operatorKey: string) {
  const internalHeaders = signsWith(signingKeySchema.parse(operatorKey));

  async function call(
    service: InternalService,
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    content?: object,
  ): Promise<unknown> {
    const { statusCode, body } = await request(`${services[service].internal_url}/internal${path}`, {
      method,
      headers: {
        ...(content && { 'content-type': 'application/json' }),
        ...(await internalHeaders(service, `${method} /internal${path}`)),
      },
      ...(content && { body: JSON.stringify(content) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${service} answered ${statusCode} to ${method} ${path}: ${text}`);
    return JSON.parse(text);
  }

  return {
    async makeWorkspace({ capNanoUsd = null }: { capNanoUsd?: bigint | null } = {}): Promise<string> {
      const workspaceId = `ws_${randomUUID()}`;
      await call('auth', 'PUT', `/workspaces/${workspaceId}`, {
        organization_id: `org_${randomUUID()}`,
        name: 'Faults',
        billing_status: 'active',
        monthly_cap_nano_usd: capNanoUsd?.toString() ?? null,
      });
      return workspaceId;
    },
    async setCap(workspaceId: string, capNanoUsd: bigint | null): Promise<void> {
      await call('auth', 'PUT', `/workspaces/${workspaceId}/cap`, {
        monthly_cap_nano_usd: capNanoUsd?.toString() ?? null,
      });
    },
    /** Applied once however often it is sent: `creditId` names it. */
    async addCredit(workspaceId: string, nanoUsd: bigint, creditId: string = randomUUID()): Promise<void> {
      await call('usage-ledger', 'POST', '/credits', {
        credit_id: creditId,
        workspace_id: workspaceId,
        amount_nano_usd: nanoUsd.toString(),
        note: 'faults',
      });
    },
    async makeKey(
      workspaceId: string,
      { budgetNanoUsd, budgetOfMonthNanoUsd }: { budgetNanoUsd?: bigint; budgetOfMonthNanoUsd?: bigint } = {},
    ): Promise<LoadKey> {
      const apiKey = generateApiKey();
      const answer = await call('auth', 'POST', '/keys', {
        key_sha256: toKeySha256(apiKey),
        last_four: apiKey.slice(-4),
        name: 'Faults',
        workspace_id: workspaceId,
        rpm: UNLIMITED,
        tpm: UNLIMITED,
        ...(budgetNanoUsd !== undefined && { max_budget_nano_usd: budgetNanoUsd.toString() }),
        ...(budgetOfMonthNanoUsd !== undefined && {
          period_budget: { period: 'month', max_nano_usd: budgetOfMonthNanoUsd.toString() },
        }),
      });
      return { keyId: z.object({ key_id: z.string() }).parse(answer).key_id, apiKey };
    },
    async revokeKey(keyId: string): Promise<void> {
      await call('auth', 'POST', `/keys/${keyId}/revoke`);
    },
    /** Makes Redis take over the ledger's current sums of a workspace. */
    async reloadBalances(workspaceId: string): Promise<void> {
      await call('model-router', 'POST', `/workspaces/${workspaceId}/balances/reload`);
    },
    /** Lists a router's view of each engine now. */
    async listEngines() {
      return enginesSchema.parse(await call('model-router', 'GET', '/engines')).engines;
    },
  };
}
