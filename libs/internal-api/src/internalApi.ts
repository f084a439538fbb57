import type { GlobalService, InternalService } from '@turnpike/config/services';
import type { z } from 'zod';

/** A service with internal routes, by the name that tokens for it bear. */
export type Callee = InternalService | GlobalService;
export type Caller = InternalService | 'edge' | 'operator';

/** How a refusal is said: `{error: <the fault's name>, message}` under this status. */
export interface FaultWording {
  status: number;
  /** Names in braces are fields of the fault: `{replacedBy} is in its place`. */
  message: string;
  retryAfterSeconds?: number;
}

/** One route with a JSON answer: all that a server and its callers have to agree on. */
export interface ApiRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: `/${string}`;
  /** The promise beyond the shapes, for the table in the docs. */
  promise: string;
  /** Path parameters (`:key_id` in the path) and query parameters alike. None unless given. */
  params?: z.core.$ZodType;
  /** The schema of a JSON body; none is read unless given. */
  body?: z.core.$ZodType;
  /** 16 KiB unless given. */
  bodyLimitBytes?: number;
  answer: z.core.$ZodType;
  /** Refusals that a caller may have to tell apart, by the kind of the fault that the service throws. */
  faults?: Record<string, FaultWording>;
}

/**
 * One route of an internal listener. Server and callers may be of versions next to each other. So a caller passes over fields of an
 * answer that it does not know, and a service those of a question that the fleet asks. Of the operator it refuses them: a limit that is
 * silently left out would be worse than an error.
 */
export interface InternalRoute extends ApiRoute {
  callers: readonly Caller[];
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: `/internal/${string}`;
  params?: z.ZodObject;
  body?: z.ZodType;
  answer: z.ZodType;
  /** The longest answer that a caller reads: 4 MiB unless given. */
  answerLimitBytes?: number;
  /** Names the state that an answer shows: whoever has that answer already gets 304. */
  etag?(answer: unknown): string;
}

/** The internal routes of one service, by what they do. */
export interface InternalApi<
  Routes extends Record<string, InternalRoute> = Record<string, InternalRoute>,
  Service extends Callee = Callee,
> {
  service: Service;
  routes: Routes;
}

export const defineApi = <const Routes extends Record<string, InternalRoute>, Service extends Callee>(
  service: Service,
  routes: Routes,
): InternalApi<Routes, Service> => ({ service, routes });

type FieldsOf<Message> = Message extends `${string}{${infer Field}}${infer Rest}` ? Field | FieldsOf<Rest> : never;

type FaultsOf<Route> = Route extends { faults: infer Faults extends Record<string, FaultWording> }
  ? { [Kind in keyof Faults]: { kind: Kind } & Record<FieldsOf<Faults[Kind]['message']>, string> }[keyof Faults]
  : never;

/** The faults that the routes of an API declare, with the fields that their messages name. */
export type FaultOf<Api extends { routes: Record<string, ApiRoute> }> = {
  [Name in keyof Api['routes']]: FaultsOf<Api['routes'][Name]>;
}[keyof Api['routes']];
