import { createHash } from 'node:crypto';
import { toKeySha256 } from '@turnpike/api-keys/apiKey';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import { authApi } from '@turnpike/internal-api/auth';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient, InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { parseUsd } from '@turnpike/money/nanoUsd';
import { StackError } from './stackError.ts';
import type { ServiceUrls } from './toServiceEnvironments.ts';

const ORGANIZATION_ID = 'org_local';
const WORKSPACE_ID = 'ws_local';
const CREDIT_ID = 'credit_local_1';
/** Longest wait for a service. Each calls other services, which have five seconds themselves on a busy machine. */
const TIMEOUT_MS = 30_000;

/** Credit of the seeded workspace. */
export const SEEDED_CREDIT_USD = '25';

export interface SeedOptions {
  auth: ServiceUrls;
  ledger: ServiceUrls;
  /** Gets a rate of euros. Absent: euros are not taken. */
  account?: ServiceUrls;
  apiKey: string;
  /** The key that signs the operator's calls. */
  operatorKey: string;
}

/**
 * Gives the stack an organization's workspace with credit, the key, and a rate of euros, through the services' own interfaces.
 * Done again it changes nothing: a credit id is applied once, and a key is known by its hash.
 */
export async function seedWorkspace({ auth, ledger, account, apiKey, operatorKey }: SeedOptions): Promise<void> {
  const key = signingKeySchema.parse(operatorKey);
  const reached = { internalHeaders: createTokenIssuer({ key }), timeoutMs: TIMEOUT_MS };
  const authService = createClient(authApi, { url: auth.internalUrl, ...reached });
  const ledgerService = createClient(usageLedgerApi, { url: ledger.internalUrl, ...reached });

  const makeKey = async () => {
    await authService
      .putWorkspace({
        params: { workspace_id: WORKSPACE_ID },
        body: { organization_id: ORGANIZATION_ID, name: 'Local workspace', billing_status: 'active' },
      })
      .catch(acceptKnown);
    await authService
      .createKey({
        body: {
          key_sha256: toKeySha256(apiKey),
          last_four: apiKey.slice(-4),
          name: 'Local key',
          workspace_id: WORKSPACE_ID,
        },
      })
      .catch(acceptKnown);
  };
  const giveCredit = () =>
    ledgerService
      .addCredit({
        body: {
          credit_id: CREDIT_ID,
          workspace_id: WORKSPACE_ID,
          amount_nano_usd: parseUsd(SEEDED_CREDIT_USD).toString(),
          note: 'Credit of the local stack',
        },
      })
      .catch(acceptKnown);
  const addRate = async ({ internalUrl: url }: ServiceUrls) => {
    await createClient(controlPlaneApi, { url, ...reached }).importRates({ body: toStandInRate(new Date()) });
  };
  await Promise.all([makeKey(), giveCredit(), account && addRate(account)]);
}

/** A rate of euros for this month, so that they can be paid without a network. No bank has published it. */
function toStandInRate(now: Date) {
  const value = '1.1000';
  const lastMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1));
  return {
    series: 'stand-in of the local stack',
    sha256: createHash('sha256').update(value).digest('hex'),
    observations: [{ period: lastMonth.toISOString().slice(0, 7), value }],
    is_confirmed: true,
  };
}

/** Ignores the conflict of a thing that is there already. */
function acceptKnown(error: unknown): void {
  if (!(error instanceof InternalCallError)) throw error;
  const { service, failure } = error;
  if (failure.kind !== 'refused') throw error;
  if (failure.status === 409) return;
  throw new StackError(`${service} answered ${failure.status} when the stack's workspace was made; its log says why.`);
}
