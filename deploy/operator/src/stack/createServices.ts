import { authApi } from '@turnpike/internal-api/auth';
import { catalogApi } from '@turnpike/internal-api/catalog';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { InternalApi } from '@turnpike/internal-api/internalApi';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { RefusedError } from '../cli/operatorError.ts';
import { SERVICE_VARIABLES, type StackAccess } from './findStack.ts';

const USUAL_TIMEOUT_MS = 10_000;

/** A stack's services. What they refuse is thrown as an `InternalCallError`, which `toProblem` words. */
export interface Services {
  auth: Client<typeof authApi>;
  catalog: Client<typeof catalogApi>;
  router: Client<typeof modelRouterApi>;
  ledger: Client<typeof usageLedgerApi>;
  media: Client<typeof mediaJobsApi>;
  /** Whether the stack names the account layer. */
  readonly hasAccount: boolean;
  /** The account layer of all regions. Throws a `RefusedError` on use where the stack names none. */
  readonly account: Client<typeof controlPlaneApi>;
}

/** Calls a stack's services in the name of the operator; what they log of a change names `user`. */
export function createServices(
  { urls, signingKey }: Pick<StackAccess, 'urls' | 'signingKey'>,
  { user, onChange }: { user: string; onChange: () => void },
): Services {
  const internalHeaders = createTokenIssuer({ key: signingKey, user });
  function toClient<Api extends InternalApi>(api: Api): Client<Api> {
    const url = urls[api.service];
    if (url === undefined)
      throw new RefusedError(
        `This stack names no ${api.service}: set ${SERVICE_VARIABLES[api.service]} to the address of its internal listener.`,
      );
    return createClient(api, {
      url,
      internalHeaders,
      timeoutMs: USUAL_TIMEOUT_MS,
      onCall({ method }) {
        if (method !== 'GET') onChange();
      },
    });
  }
  return {
    auth: toClient(authApi),
    catalog: toClient(catalogApi),
    router: toClient(modelRouterApi),
    ledger: toClient(usageLedgerApi),
    media: toClient(mediaJobsApi),
    hasAccount: urls['control-plane'] !== undefined,
    get account() {
      return toClient(controlPlaneApi);
    },
  };
}
