import type { Guard } from '@turnpike/http-service/guard';
import type { Response } from 'express';
import type { Authenticator } from './createAuthenticator.ts';
import type { KeyRecord } from './keyRecord.ts';

/** Lets in whoever brings a valid API key; throws an `AuthFault` otherwise. The handler asks `callerOf` who it is. */
export function createKeyGuard(authenticator: Pick<Authenticator, 'authenticate'>): Guard {
  return {
    name: 'api-key',
    check: async (req, res, next) => {
      res.locals.caller = await authenticator.authenticate(req.headers.authorization);
      next();
    },
  };
}

/** The key that a request behind the key guard came with. */
export function callerOf(res: Response): KeyRecord {
  const caller = res.locals.caller as KeyRecord | undefined;
  if (!caller) throw new Error('the route has no key guard');
  return caller;
}
