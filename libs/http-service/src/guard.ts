import type { NamedSecret } from '@turnpike/config/secrets';
import { INTERNAL_TOKEN_HEADER, verifyInternalToken } from '@turnpike/internal-auth/internalToken';
import { ApiError } from '@turnpike/public-api/apiError';
import { flat, type WireError } from '@turnpike/public-api/wireError';
import type { Request, RequestHandler, Response } from 'express';

/** The sender of a request, as a guard found it: anyone, a service or the operator, a key; later a person's session. */
export interface Principal {
  kind: string;
}

/** Finds the sender of a request. Throws if the sender may not use the route. An app with a route without a guard does not start. */
export type Guard = (req: Request) => Principal | Promise<Principal>;

/** Makes the step before a handler, which asks `principalOf`. Throws at start if there is no guard. */
export function admit(guard: Guard): RequestHandler {
  if (typeof guard !== 'function') throw new Error('there is no guard');
  return async (req, res, next) => {
    res.locals.principal = await guard(req);
    next();
  };
}

/** Returns what the guard of the route found. Throws if no guard ran. */
export function principalOf(res: Response): Principal {
  const principal = res.locals.principal as Principal | undefined;
  if (principal === undefined) throw new Error('the route has no guard');
  return principal;
}

/** Admits every sender: health, readiness and metrics on the internal listener, and routes without any secret. */
export const openGuard: Guard = () => ({ kind: 'anyone' });

/** A service of the fleet, or the operator with the person behind: `auth`, `operator:alice`. */
interface FleetPrincipal extends Principal {
  kind: 'fleet';
  name: string;
}

/** Admits services of this stack and its operator, each with a short-lived signed token for this service. Throws a 401 otherwise. */
export const createInternalGuard =
  ({ service, keys }: { service: string; keys: NamedSecret[] }): Guard =>
  (req) => {
    const name = verifyInternalToken(req.headers[INTERNAL_TOKEN_HEADER], { audience: service, keys });
    if (name === undefined) throw new ApiError({ kind: 'invalid_internal_token' });
    return { kind: 'fleet', name } satisfies FleetPrincipal;
  };

/** Returns the sender of a request behind the internal guard: `auth`, or `operator:alice`. */
export function internalCallerOf(res: Response): string {
  const principal = principalOf(res);
  if (principal.kind !== 'fleet') throw new Error('the route has no internal guard');
  return (principal as FleetPrincipal).name;
}

/** Words what the internal guard throws; undefined for every other error. */
export function toGuardError(error: unknown): WireError | undefined {
  if (!(error instanceof ApiError && error.fault.kind === 'invalid_internal_token')) return undefined;
  return flat(401, error.fault.kind, { message: 'This route serves the fleet only.' });
}
