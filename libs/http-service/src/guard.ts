import type { PublicKey } from '@turnpike/config/internalKeys';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER, type InternalCaller } from '@turnpike/internal-auth/internalToken';
import { ApiError } from '@turnpike/public-api/apiError';
import { flat, type WireError } from '@turnpike/public-api/wireError';
import type { Request, RequestHandler, Response } from 'express';
import { type Principal, principalOf, routeOf } from './observeRequests.ts';

/** Finds the sender of a request. Throws if the sender may not use the route. An app with a route without a guard does not start. */
export type Guard = (req: Request) => Principal | Promise<Principal>;

/** Creates the step before a handler, which runs `principalOf`. Throws at the start if there is no guard. */
export function admit(guard: Guard): RequestHandler {
  if (typeof guard !== 'function') throw new Error('there is no guard');
  return async (req, res, next) => {
    res.locals.principal = await guard(req);
    next();
  };
}

/** Admits every sender: health, readiness and metrics on the internal listener, and routes without any secret. */
export const openGuard: Guard = () => ({ kind: 'anyone' });

/** A service of the fleet, or the operator with the person behind. */
interface FleetPrincipal extends Principal, InternalCaller {
  kind: 'fleet';
}

/**
 * Admits services of this stack and its operator, each with a short-lived token that its own key signed for this service
 * (`us/auth`) and this route. Throws a 401 otherwise.
 */
export function createInternalGuard(options: { audience: string; keys: PublicKey[] }): Guard {
  const verify = createTokenVerifier(options);
  return async (req) => {
    const caller = await verify(req.headers[INTERNAL_TOKEN_HEADER], req.res ? routeOf(req.res) : '');
    if (caller === undefined) throw new ApiError({ kind: 'invalid_internal_token' });
    return { kind: 'fleet', ...caller } satisfies FleetPrincipal;
  };
}

/** Narrows a guard to some callers of the fleet, as a route declares them. Throws a 403 for every other sender. */
export const admitOnly =
  (guard: Guard, callers: readonly string[]): Guard =>
  async (req) => {
    const principal = await guard(req);
    if (!callers.includes((principal as FleetPrincipal).service)) throw new ApiError({ kind: 'caller_not_allowed' });
    return principal;
  };

/** Returns the sender of a request behind the internal guard: `auth`, or `operator:alice`. */
export function internalCallerOf(res: Response): string {
  const principal = principalOf(res);
  if (principal.kind !== 'fleet') throw new Error('the route has no internal guard');
  const { service, user } = principal as FleetPrincipal;
  return user === undefined ? service : `${service}:${user}`;
}

/** Returns the scope of a sender behind the internal guard: `us`, `eu`, or `global`. */
export function internalScopeOf(res: Response): string {
  const principal = principalOf(res);
  if (principal.kind !== 'fleet') throw new Error('the route has no internal guard');
  return (principal as FleetPrincipal).scope;
}

/** The answers to what guards of the fleet throw. */
const REFUSALS: Record<string, WireError> = {
  invalid_internal_token: flat(401, 'invalid_internal_token', { message: 'This route serves the fleet only.' }),
  caller_not_allowed: flat(403, 'caller_not_allowed', { message: 'This route serves other callers of the fleet.' }),
};

/** Words what a guard of the fleet throws; undefined for every other error. */
export const toGuardError = (error: unknown): WireError | undefined =>
  error instanceof ApiError ? REFUSALS[error.fault.kind] : undefined;
