import type { InternalService } from '@turnpike/config/services';
import { authApi } from '@turnpike/internal-api/auth';
import { catalogApi } from '@turnpike/internal-api/catalog';
import type { InternalApi } from '@turnpike/internal-api/internalApi';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import type { StackAccess } from './findStack.ts';

const USUAL_TIMEOUT_MS = 10_000;

/** A stack's services. What they refuse is thrown as an `InternalCallError`, which `toProblem` words. */
export interface Services {
  auth: Client<typeof authApi>;
  catalog: Client<typeof catalogApi>;
  router: Client<typeof modelRouterApi>;
  ledger: Client<typeof usageLedgerApi>;
  media: Client<typeof mediaJobsApi>;
}

/** Calls a stack's services in the name of the operator; what they log of a change names `user`. */
export function createServices(
  { urls, signingKey }: Pick<StackAccess, 'urls' | 'signingKey'>,
  { user, onChange }: { user: string; onChange: () => void },
): Services {
  const internalHeaders = createTokenIssuer({ key: signingKey, user });
  const toClient = <Api extends InternalApi & { service: InternalService }>(api: Api) =>
    createClient(api, {
      url: urls[api.service],
      internalHeaders,
      timeoutMs: USUAL_TIMEOUT_MS,
      onCall({ method }) {
        if (method !== 'GET') onChange();
      },
    });
  return {
    auth: toClient(authApi),
    catalog: toClient(catalogApi),
    router: toClient(modelRouterApi),
    ledger: toClient(usageLedgerApi),
    media: toClient(mediaJobsApi),
  };
}
