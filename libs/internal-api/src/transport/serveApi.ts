import { isDeepStrictEqual } from 'node:util';
import { toProblem } from '@turnpike/config/toProblem';
import type { Route } from '@turnpike/http-service/createHttpApp';
import { admitOnly, type Guard } from '@turnpike/http-service/guard';
import { ApiError } from '@turnpike/public-api/apiError';
import { retryAfter } from '@turnpike/public-api/headers';
import { flat, type WireError } from '@turnpike/public-api/wireError';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { z } from 'zod';
import type { ApiRoute, FaultWording, InternalApi, InternalRoute } from '../internalApi.ts';

const BODY_LIMIT_BYTES = 16 * 1024;

type Parsed<Schema> = Schema extends z.core.$ZodType ? z.output<Schema> : undefined;

/** A request to a route, checked. */
export interface Asked<R extends ApiRoute> {
  params: Parsed<R['params']>;
  body: Parsed<R['body']>;
}

/** Answers a route; what it throws of the route's faults is worded by `wordFault`. */
export type Handler<R extends InternalRoute> = (
  asked: Asked<R>,
  res: Response,
) => z.input<R['answer']> | Promise<z.input<R['answer']>>;

/** A handler for each route of an API, under the route's name. */
export type Handlers<Api extends InternalApi> = {
  [Name in keyof Api['routes']]: Handler<Api['routes'][Name]>;
};

/** Serves every route of an API behind the guard, to the callers that the route declares. One that has no handler does not compile. */
export function serveApi<Api extends InternalApi>(
  { routes }: Api,
  { guard, handlers }: { guard: Guard; handlers: Handlers<Api> },
): Route[] {
  // Each handler is of its own route: their types say so above, name by name.
  const handlerOf = handlers as Record<string, (asked: { params: unknown; body: unknown }, res: Response) => unknown>;
  return Object.entries(routes).map(([name, route]) => {
    const answer = handlerOf[name];
    if (!answer) throw new Error(`nobody serves ${route.method} ${route.path}`);
    return {
      method: METHODS[route.method],
      path: route.path,
      guard: admitOnly(guard, route.callers),
      handler: serve(route, answer),
    };
  });
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/**
 * Makes the reader of a route's parameters and body. It throws a fault of the kind `invalid_request`, which `createFaultWording` words,
 * where they are not what the route takes.
 */
export function createRequestReader<R extends ApiRoute>(route: R): (req: Request, res: Response) => Promise<Asked<R>> {
  const readBody = createBodyReader(route.bodyLimitBytes ?? BODY_LIMIT_BYTES);
  return async (req, res) => {
    const params = route.params && parse(route.params, { ...req.query, ...req.params }, 'query');
    const body = route.body && parse(route.body, await readBody(req, res), 'body');
    return { params, body } as Asked<R>;
  };
}

function serve(
  route: InternalRoute,
  answer: (asked: { params: unknown; body: unknown }, res: Response) => unknown,
): RequestHandler {
  const read = createRequestReader(route);
  return async (req, res) => {
    const content = await answer(await read(req, res), res);
    if (route.etag) {
      const tag = route.etag(content);
      res.setHeader('etag', tag);
      if (req.headers['if-none-match'] === tag) return void res.status(304).end();
    }
    res.json(content);
  };
}

/** A caller sent what is not what the route takes. `param` is the first wrong field. */
type InvalidRequest = { kind: 'invalid_request'; param: string; problem: string };

/** `whole` names what is wrong where no single field is. */
function parse<Schema extends z.core.$ZodType>(schema: Schema, value: unknown, whole: string): z.output<Schema> {
  const result = z.safeParse(schema, value, { error: toProblem });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalid(issue?.path.join('.') || whole, issue?.message ?? 'is not what this route takes');
}

function createBodyReader(limitBytes: number) {
  const parseJson = express.json({ limit: limitBytes, inflate: false, type: () => true });
  return (req: Request, res: Response): Promise<unknown> =>
    new Promise((resolve, reject) => {
      parseJson(req, res, (error?: unknown) => (error === undefined ? resolve(req.body) : reject(unreadable(error))));
    });
}

/** The parser's own messages quote the body; its error types do not. */
function unreadable(error: unknown): ApiError<InvalidRequest> {
  const reason = error instanceof Error && 'type' in error ? `: ${error.type}` : '';
  return invalid('body', `cannot be read${reason}`);
}

const invalid = (param: string, problem: string): ApiError<InvalidRequest> =>
  new ApiError({ kind: 'invalid_request', param, problem });

/**
 * Returns a function that words an error from a handler of an API. It gives 400 for an invalid parameter or body, words
 * the declared faults of the routes, and returns undefined for any other error. Throws if two routes word one fault differently.
 */
export function createFaultWording({
  routes,
}: {
  routes: Record<string, ApiRoute>;
}): (error: unknown) => WireError | undefined {
  const wordings = new Map<string, FaultWording>();
  for (const [kind, wording] of Object.values(routes).flatMap(({ faults = {} }) => Object.entries(faults))) {
    if (!isDeepStrictEqual(wordings.get(kind) ?? wording, wording))
      throw new Error(`two routes word ${kind} differently`);
    wordings.set(kind, wording);
  }
  return (error) => {
    if (!(error instanceof ApiError)) return undefined;
    const { fault } = error;
    if (isInvalidRequest(fault))
      return flat(400, fault.kind, { message: `${fault.param} ${fault.problem}`, param: fault.param });
    const wording = wordings.get(fault.kind);
    if (!wording) return undefined;
    const { status, retryAfterSeconds } = wording;
    const fields = new Map<string, unknown>(Object.entries(fault));
    const message = wording.message.replaceAll(/\{(\w+)\}/g, (_, field: string) => String(fields.get(field)));
    return flat(
      status,
      fault.kind,
      { message },
      retryAfterSeconds === undefined ? undefined : retryAfter(retryAfterSeconds),
    );
  };
}

const isInvalidRequest = (fault: { kind: string }): fault is InvalidRequest => fault.kind === 'invalid_request';
