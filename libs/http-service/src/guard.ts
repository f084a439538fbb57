import { flat } from '@turnpike/api-errors/wireError';
import type { NamedSecret } from '@turnpike/config/secrets';
import { INTERNAL_TOKEN_HEADER, verifyInternalToken } from '@turnpike/internal-auth/internalToken';
import type { Request, RequestHandler, Response } from 'express';
import { sendWireError } from './sendWireError.ts';

/** Decides who may use a route. Every route names one: an app with a route that names none does not start. */
export interface Guard {
  name: string;
  check: RequestHandler;
}

/** Anyone may call: health, readiness and metrics on the internal listener, nothing else. */
export const openGuard: Guard = { name: 'open', check: (_req, _res, next) => next() };

/** Only services of this stack may call, each with a short-lived signed token for this service; else 401. */
export function createInternalGuard({ service, keys }: { service: string; keys: NamedSecret[] }): Guard {
  return {
    name: 'internal',
    check: (req: Request, res: Response, next) => {
      if (verifyInternalToken(req.headers[INTERNAL_TOKEN_HEADER], { audience: service, keys })) return next();
      sendWireError(res, flat(401, 'invalid_internal_token', { message: 'This route serves the fleet only.' }));
    },
  };
}
