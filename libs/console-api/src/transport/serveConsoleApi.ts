import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Route } from '@turnpike/http-service/createHttpApp';
import { admitOnly, type Guard } from '@turnpike/http-service/guard';
import { type Principal, principalOf } from '@turnpike/http-service/observeRequests';
import { type Asked, createFaultWording, createRequestReader } from '@turnpike/internal-api/transport/serveApi';
import { CONSOLE_CALLER_HEADER, type ConsoleCaller, verifyConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { ApiError } from '@turnpike/public-api/apiError';
import type { WireError } from '@turnpike/public-api/wireError';
import type { Response } from 'express';
import * as z from 'zod/mini';
import { type AnyConsoleRoute, type ConsoleApi, MEMBER_REFUSALS } from '../console/consoleRoute.ts';
import { hasRight, type Role } from '../roles.ts';

/** A request to a console route whose guard let it through. */
type Call<R extends AnyConsoleRoute> = Asked<R> &
  (R extends { access: 'public' } ? unknown : { caller: ConsoleCaller });

/** A handler for each route of a console API, under the route's name. */
export type ConsoleHandlers<Api extends ConsoleApi> = {
  [Name in keyof Api['routes']]: (
    call: Call<Api['routes'][Name]>,
    res: Response,
  ) => Promise<z.input<Api['routes'][Name]['answer']>>;
};

/** The edge, with the member in whose name it calls. A public route has no member. */
interface ConsolePrincipal extends Principal {
  user?: string;
  caller?: ConsoleCaller;
}

/** Makes the routes of a console API for an internal listener. The edge alone may call them. */
export function serveConsoleApi<Api extends ConsoleApi>(
  { routes }: Api,
  { internalGuard, keys, handlers }: { internalGuard: Guard; keys: PublicKey[]; handlers: ConsoleHandlers<Api> },
): Route[] {
  // Each handler is of its own route: the types of `ConsoleHandlers` say so, name by name.
  const handlerOf = handlers as unknown as Record<string, (call: object, res: Response) => Promise<unknown>>;
  return Object.entries(routes).map(([name, route]) => {
    const handler = handlerOf[name];
    if (!handler) throw new Error(`${route.method} ${route.path} has no handler`);
    const read = createRequestReader(route);
    return {
      method: route.method.toLowerCase() as Route['method'],
      path: route.path,
      guard: createConsoleGuard(route, { internalGuard, keys }),
      async handler(req, res) {
        const asked = await read(req, res);
        const { caller } = principalOf(res) as ConsolePrincipal;
        // Drops each field that the declaration lacks, such as those of the operator's answers.
        const answer = z.parse(route.answer, await handler({ ...asked, caller }, res));
        if (route.access) res.set('cache-control', `public, max-age=${route.maxAgeSeconds}`).json(answer);
        else res.status(route.status ?? 200).json(answer);
      },
    };
  });
}

function createConsoleGuard(route: AnyConsoleRoute, options: { internalGuard: Guard; keys: PublicKey[] }): Guard {
  const admitEdge = admitOnly(options.internalGuard, ['edge']);
  if (route.access) return admitEdge;
  const { method, path, right } = route;
  return async (req) => {
    const edge = await admitEdge(req);
    const caller = verifyConsoleCaller(req.headers[CONSOLE_CALLER_HEADER], `${method} ${path}`, options);
    if (!caller) throw new ApiError({ kind: 'no_console_caller' });
    if (!hasRight(caller.role as Role, right))
      throw new ApiError({ kind: 'right_missing', role: caller.role.replace('_', ' ') });
    return { ...edge, user: caller.userId, caller } satisfies ConsolePrincipal;
  };
}

/** Makes a function that words the refusals of a console API. It returns undefined for any other error. */
export function createConsoleFaultWording({ routes }: ConsoleApi): (error: unknown) => WireError | undefined {
  const [anyRoute] = Object.values(routes);
  return createFaultWording({
    routes: { ...routes, ...(anyRoute && { any: { ...anyRoute, faults: MEMBER_REFUSALS } }) },
  });
}
