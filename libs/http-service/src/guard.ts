import type { NamedSecret } from '@turnpike/config/secrets';
import { INTERNAL_TOKEN_HEADER, verifyInternalToken } from '@turnpike/internal-auth/internalToken';
import { flat } from '@turnpike/public-api/wireError';
import type { Request, RequestHandler, Response } from 'express';
import { sendWireError } from './sendWireError.ts';

/** Decides who may use a route. Every route names one: an app with a route that names none does not start. */
export interface Guard {
  name: string;
  check: RequestHandler;
}

/** Anyone may call: health, readiness and metrics on the internal listener, nothing else. */
export const openGuard: Guard = { name: 'open', check: (_req, _res, next) => next() };

/**
 * Only services of this stack may call, each with a short-lived signed token for this service; else 401. The handler asks
 * `internalCallerOf` who it is.
 */
export function createInternalGuard({ service, keys }: { service: string; keys: NamedSecret[] }): Guard {
  return {
    name: 'internal',
    check: (req: Request, res: Response, next) => {
      const caller = verifyInternalToken(req.headers[INTERNAL_TOKEN_HEADER], { audience: service, keys });
      if (caller !== undefined) {
        res.locals.internalCaller = caller;
        return next();
      }
      sendWireError(res, flat(401, 'invalid_internal_token', { message: 'This route serves the fleet only.' }));
    },
  };
}

/** Who a call behind the internal guard comes from, as its token says: `auth`, or `operator:alice`. */
export function internalCallerOf(res: Response): string {
  const caller = res.locals.internalCaller as string | undefined;
  if (caller === undefined) throw new Error('the route has no internal guard');
  return caller;
}
