import type { SigningKey } from '@turnpike/config/internalKeys';
import type { Fleet } from '@turnpike/internal-auth/aFleet';
import { createTokenIssuer, type InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { authApi } from './auth.ts';
import { catalogApi } from './catalog.ts';
import type { InternalApi, InternalRoute } from './internalApi.ts';
import { mediaJobsApi } from './mediaJobs.ts';
import { modelRouterApi } from './modelRouter.ts';
import { usageLedgerApi } from './usageLedger.ts';

const APIS: InternalApi[] = [authApi, catalogApi, modelRouterApi, usageLedgerApi, mediaJobsApi];

/** The declared route of a call, by `METHOD path` with a pattern or with values: `GET /internal/keys/key_1`. */
function findRoute(service: string, call: string): InternalRoute | undefined {
  const [method, path = ''] = call.split(/[ ?]/);
  const routes = Object.values(APIS.find((api) => api.service === service)?.routes ?? {});
  return routes.find(
    (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
  );
}

const toName = (route: InternalRoute | undefined, call: string): string =>
  route === undefined ? (call.split('?')[0] ?? '') : `${route.method} ${route.path}`;

/** Signs calls that a test writes by hand with one key: each for the route that its path is of. */
export function signsWith(key: SigningKey): InternalHeaders {
  const issue = createTokenIssuer({ key });
  return (service, call) => issue(service, toName(findRoute(service, call), call));
}

/** Signs calls that a test writes by hand, each as the first caller that its route names, else as the operator. */
export function signsAsCaller(fleet: Fleet): InternalHeaders {
  const issuers = new Map<string, InternalHeaders>();
  return (service, call) => {
    const route = findRoute(service, call);
    const caller = route?.callers[0] ?? 'operator';
    const issue = issuers.get(caller) ?? createTokenIssuer({ key: fleet.keyOf(caller) });
    issuers.set(caller, issue);
    return issue(service, toName(route, call));
  };
}
