import type { InternalService } from '@turnpike/config/services';
import type { ApiRoute } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';
import type { Right } from './roles.ts';

/** A route of a region's console host. The workspace and the role of its caller are those of the console token. */
export interface ConsoleRoute extends ApiRoute {
  /** The right that the role of the caller has to have. */
  right: Right;
  /** Parameters in the path consist of letters, digits, `_` and `-`. */
  path: `/console/${string}`;
  /** The status of an answer that is not 200. */
  status?: 201;
}

/** The console routes of one service. The edge passes them on to its internal listener. */
export interface ConsoleApi<
  Routes extends Record<string, ConsoleRoute> = Record<string, ConsoleRoute>,
  Service extends InternalService = InternalService,
> {
  service: Service;
  routes: Routes;
}

const defineRoutes = <const Routes extends Record<string, ConsoleRoute>, Service extends InternalService>(
  service: Service,
  routes: Routes,
): ConsoleApi<Routes, Service> => ({ service, routes });

const instant = z.string();
/** Nano-dollars as a decimal text. */
const nanoUsd = z.string();
const afterId = z._default(z.string().check(z.regex(/^[\w-]{0,128}$/, 'must be an id')), '');

/** An API key, without anything that lets its reader use it. */
const keySchema = z.object({
  key_id: z.string(),
  last_four: z.string(),
  name: z.string(),
  status: z.enum(['active', 'blocked', 'revoked']),
  rpm: z.number(),
  tpm: z.number(),
  max_budget_nano_usd: z.nullable(nanoUsd),
  expires_at: z.nullable(instant),
  created_at: instant,
});
export type ConsoleKeyBody = z.output<typeof keySchema>;

/** API keys. */
export const keysConsoleApi = defineRoutes('auth', {
  listKeys: {
    right: 'keys.read',
    method: 'GET',
    path: '/console/keys',
    promise: 'Lists the keys of the workspace by id, 500 a page, revoked and expired ones too.',
    params: z.object({ after: afterId }),
    answer: z.object({ keys: z.array(keySchema), next_after: z.nullable(z.string()) }),
  },
});

/** All routes of a console host. */
export const CONSOLE_APIS = [keysConsoleApi] as const;
/** The services behind a console host. */
export type ConsoleService = (typeof CONSOLE_APIS)[number]['service'];
