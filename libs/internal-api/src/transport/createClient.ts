import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import type { Callee, InternalApi, InternalRoute } from '../internalApi.ts';

const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024;
/** Longest wait for a connection. A call that gives up earlier leaves its attempt behind for as long. */
export const CONNECT_TIMEOUT_MS = 1_000;

const connections = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });

/** How a service is reached. */
export interface ClientOptions {
  /** Base address of its internal listener. */
  url: string;
  /** Signs a call to a service (`createTokenIssuer`). */
  internalHeaders: InternalHeaders;
  /** Longest wait for an answer, to its last byte, where a call names none. */
  timeoutMs: number;
  /** Whose connections are used; those of the process unless given. */
  dispatcher?: Dispatcher | undefined;
  /** Told of each call before it is sent. */
  onCall?: (route: InternalRoute) => void;
}

interface CallOptions<Answer> {
  timeoutMs?: number;
  /** The trace context of the call (W3C). */
  traceparent?: string | undefined;
  /** The answer that the caller has: it gets the same one back while the service would give no other. */
  known?: Answer | undefined;
}

/** The arguments of a call: the route's parameters and body, and how it is to be made. */
export type Question<R extends InternalRoute> = CallOptions<z.output<R['answer']>> &
  (R extends { params: infer Params extends z.ZodType } ? { params: z.input<Params> } : unknown) &
  (R extends { body: infer Body extends z.ZodType } ? { body: z.input<Body> } : unknown);

type Call<R extends InternalRoute> = (
  ...question: R extends { params: z.ZodType } | { body: z.ZodType } ? [Question<R>] : [Question<R>?]
) => Promise<z.output<R['answer']>>;

/** A function for each route of an API. Each throws an `InternalCallError` for whatever is not the promised answer. */
export type Client<Api extends InternalApi> = { [Name in keyof Api['routes']]: Call<Api['routes'][Name]> };

/** Calls a service by the routes that it promises. */
export function createClient<Api extends InternalApi>({ service, routes }: Api, options: ClientOptions): Client<Api> {
  const calls = Object.entries(routes).map(([name, route]) => [name, call.bind(undefined, service, route, options)]);
  // Each function is of its own route: the type says so, name by name.
  return Object.fromEntries(calls) as Client<Api>;
}

type AnyQuestion = CallOptions<unknown> & { params?: Record<string, unknown>; body?: unknown };

/** Why a call has no answer of use. */
export type CallFailure =
  /** No connection, one that broke, or an answer longer than the route's may be. */
  | { kind: 'unanswered' }
  | { kind: 'late'; timeoutMs: number }
  /** `fault` and `message` are the service's own words; undefined where it had none. */
  | {
      kind: 'refused';
      status: number;
      fault: string | undefined;
      message: string | undefined;
      requestId: string | undefined;
    }
  /** An answer that is not what the route promises. */
  | { kind: 'malformed' };

/** A call of an internal route that brought no answer of use. */
export class InternalCallError extends Error {
  override name = 'InternalCallError';
  readonly service: Callee;
  readonly failure: CallFailure;
  /** Whether the call asks for nothing but an answer. */
  readonly isRead: boolean;

  constructor(service: Callee, { method, path }: InternalRoute, failure: CallFailure, options?: ErrorOptions) {
    super(`${service} ${toWords(failure)} to ${method} ${path}`, options);
    this.service = service;
    this.failure = failure;
    this.isRead = method === 'GET';
  }
}

function toWords(failure: CallFailure): string {
  if (failure.kind === 'unanswered') return 'gave no answer';
  if (failure.kind === 'late') return `gave no answer within ${failure.timeoutMs} ms`;
  if (failure.kind === 'malformed') return 'gave an answer that was not promised';
  return `answered ${failure.status}${failure.fault === undefined ? '' : ` (${failure.fault})`}`;
}

/** Whether a call was refused with a fault that its route declares. */
export const isRefusal = <R extends InternalRoute>(error: unknown, _route: R, fault: keyof R['faults']): boolean =>
  error instanceof InternalCallError && error.failure.kind === 'refused' && error.failure.fault === fault;

async function call(
  service: Callee,
  route: InternalRoute,
  options: ClientOptions,
  question: AnyQuestion = {},
): Promise<unknown> {
  const { url, internalHeaders, dispatcher = connections, onCall } = options;
  const { timeoutMs = options.timeoutMs, params = {}, body, traceparent, known } = question;
  const fail = (failure: CallFailure, cause?: unknown) => new InternalCallError(service, route, failure, { cause });
  onCall?.(route);
  const late = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const { stop: stopDeadline } = startDeadline(timeoutMs, () => {
    late.abort();
    reject(late.signal.reason);
  });
  let answer: { status: number; requestId: string | undefined; text: string };
  try {
    // undici does not end a request by its signal while it waits for a connection.
    const signed = await internalHeaders(service, `${route.method} ${route.path}`);
    const asked = request(url + toPath(route.path, params), {
      method: route.method,
      headers: {
        ...signed,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(traceparent !== undefined && { traceparent }),
        ...(known !== undefined && route.etag && { 'if-none-match': route.etag(known) }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: late.signal,
      dispatcher,
    });
    const { statusCode, headers, ...received } = await Promise.race([asked, passed]);
    const text = await readText(received.body, route.answerLimitBytes ?? ANSWER_LIMIT_BYTES);
    const requestId = headers[REQUEST_ID_HEADER];
    answer = { status: statusCode, requestId: typeof requestId === 'string' ? requestId : undefined, text };
  } catch (error) {
    throw fail(late.signal.aborted ? { kind: 'late', timeoutMs } : { kind: 'unanswered' }, error);
  } finally {
    stopDeadline();
  }
  const { status, requestId, text } = answer;
  if (status === 304 && known !== undefined) return known;
  if (status !== 200) throw fail({ kind: 'refused', status, requestId, ...readRefusal(text) });
  try {
    return route.answer.parse(JSON.parse(text));
  } catch (error) {
    throw fail({ kind: 'malformed' }, error);
  }
}

/** Fills in a route's path; what has no place there becomes its query. */
function toPath(pattern: string, params: Record<string, unknown>): string {
  const unplaced = new Map(Object.entries(params));
  const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = unplaced.get(name);
    unplaced.delete(name);
    return encodeURIComponent(String(value));
  });
  const query = new URLSearchParams();
  for (const [name, value] of unplaced) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

async function readText(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new Error(`an answer of more than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Either of the shapes in which services word a refusal. */
const refusalSchema = z.union([
  z.object({ error: z.string(), message: z.string() }).transform(({ error, message }) => ({ fault: error, message })),
  z
    .object({ error: z.object({ code: z.string(), message: z.string() }) })
    .transform(({ error }) => ({ fault: error.code, message: error.message })),
]);

function readRefusal(text: string): { fault: string | undefined; message: string | undefined } {
  try {
    return refusalSchema.parse(JSON.parse(text));
  } catch {
    return { fault: undefined, message: undefined };
  }
}
