import type { InternalService } from '@turnpike/config/services';
import type { ApiRoute, FaultWording } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';
import type { Right } from '../roles.ts';

/** A route of a region's console host. The workspace and the role of its caller are those of the console token. */
export interface ConsoleRoute extends ApiRoute {
  /** The right that the role of the caller has to have. */
  right: Right;
  access?: never;
  /** Parameters in the path consist of letters, digits, `_` and `-`. */
  path: `/console/${string}`;
  /** The status of an answer that is not 200. */
  status?: 201;
}

/** A route of a region's console host that takes no token. Its answer is the same for everyone. */
export interface PublicConsoleRoute extends ApiRoute {
  access: 'public';
  right?: never;
  method: 'GET';
  path: `/console/${string}`;
  /** Time for which any cache may keep the answer. */
  maxAgeSeconds: number;
}

/** A route names the right of its callers, or that it is public. */
export type AnyConsoleRoute = ConsoleRoute | PublicConsoleRoute;

/** The console routes of one service. The edge passes them on to its internal listener. */
export interface ConsoleApi<
  Routes extends Record<string, AnyConsoleRoute> = Record<string, AnyConsoleRoute>,
  Service extends InternalService = InternalService,
> {
  service: Service;
  routes: Routes;
}

/** Refusals of the console host itself. */
export const HOST_REFUSALS = {
  malformed_request: { status: 400, message: 'The request is not well-formed HTTP.' },
  invalid_console_token: {
    status: 401,
    message: 'The console token is missing, has expired, or is of another region. Get a new one.',
  },
  foreign_origin: { status: 403, message: 'This host serves the pages of the account layer alone.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, message: 'This path takes {allow}.' },
  too_many_requests: {
    status: 429,
    message: 'Too many requests of this address. Retry in {seconds} s.',
    retryAfterSeconds: 1,
  },
  service_unavailable: {
    status: 503,
    message: 'The service cannot take the request. Retry in {seconds} s.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, FaultWording>;

/** Refusals of a service behind the host, on routes that are not public. */
export const MEMBER_REFUSALS = {
  no_console_caller: { status: 401, message: 'This route serves members whom the edge names.' },
  right_missing: { status: 403, message: 'Your role, {role}, does not have the right to this. Ask an owner.' },
};

/** Declares the console routes of a service, each with its own types. */
export const defineRoutes = <const Routes extends Record<string, AnyConsoleRoute>, Service extends InternalService>(
  service: Service,
  routes: Routes,
): ConsoleApi<Routes, Service> => ({ service, routes });

export const instant = z.string();
export const afterId = z._default(z.string().check(z.regex(/^[\w-]{0,128}$/, 'must be an id')), '');
export const count = z.number();
export const wholeNumber = (pattern: RegExp, problem: string) =>
  z.pipe(z.string().check(z.regex(pattern, problem)), z.transform(Number));
