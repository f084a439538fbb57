import type { ApiRoute } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';
import type { AccountRoute } from './account/accountRoute.ts';
import type { AnyConsoleRoute } from './console/consoleRoute.ts';

/** Longest wait for an answer, ms. A console host gives up on the service behind it before. */
const TIMEOUT_MS = 12_000;

/** A refused call, or one without an answer: `status` is 0 then, and `error` is `unreachable` or `timed_out`. */
export class Refused extends Error {
  readonly status: number;
  readonly error: string;
  /** The wrong field of a 400. */
  readonly param: string | undefined;

  constructor(status: number, { error, message, param }: z.output<typeof refusalSchema>) {
    super(message);
    this.status = status;
    this.error = error;
    this.param = param;
  }
}

const refusalSchema = z.object({ error: z.string(), message: z.string(), param: z.optional(z.string()) });

type Given<R, Part extends 'params' | 'body'> = R extends { [Name in Part]: infer Schema extends z.core.$ZodType }
  ? { [Name in Part]: z.input<Schema> }
  : unknown;
type Question<R> = Given<R, 'params'> & Given<R, 'body'>;
/** None for a route without parameters and body. */
export type Arguments<R> = unknown extends Question<R> ? [] : [question: Question<R>];

/** A console host, with a token for its routes that are not public. */
export interface ConsoleHost {
  url: string;
  token?: string;
}

/**
 * Calls a route from a browser, with the cookies of its own origin. Returns the answer, without fields that the declaration does not
 * have. Throws `Refused` for each refusal, and if no answer comes within 12 s.
 */
export const callRoute = <const R extends AccountRoute>(route: R, ...[question]: Arguments<R>) =>
  send(route, question ?? {});

/** Calls a route of a console host as `callRoute` does, with the token in place of cookies. */
export const callHost = <const R extends AnyConsoleRoute>(host: ConsoleHost, route: R, ...[question]: Arguments<R>) =>
  send(route, question ?? {}, host);

async function send<const R extends ApiRoute>(
  route: R,
  { params = {}, body }: { params?: Record<string, string | undefined>; body?: unknown },
  host?: ConsoleHost,
): Promise<z.output<R['answer']>> {
  const words = host ? WORDS.region : WORDS.account;
  const address = (host?.url ?? '') + toAddress(route.path, params);
  const call = {
    method: route.method,
    headers: {
      ...(host?.token !== undefined && { authorization: `Bearer ${host.token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const { ok, status, content } = await sendCall(address, call).catch((error: Error) => {
    throw new Refused(0, error.name === 'TimeoutError' ? words.timedOut : words.unreachable);
  });
  if (ok) {
    const answer = z.safeParse(route.answer, content);
    if (!answer.success) throw new Refused(status, words.unreadable);
    return answer.data as z.output<R['answer']>;
  }
  const refusal = z.safeParse(refusalSchema, content);
  throw new Refused(status, refusal.success ? refusal.data : words.unreadable);
}

/** Sends a call, with the cookies of the own origin. Returns the answer with its JSON; the content of another answer is undefined. */
async function sendCall(address: string, call: RequestInit) {
  const response = await fetch(address, {
    ...call,
    credentials: 'same-origin',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const content: unknown = await response.json().catch(() => undefined);
  return { ok: response.ok, status: response.status, content };
}

/** Puts parameters into the path; those that it does not name become the query. */
function toAddress(path: string, params: Record<string, string | undefined>): string {
  const query = new Map(Object.entries(params));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = query.get(name) ?? '';
    query.delete(name);
    return encodeURIComponent(value);
  });
  const given = [...query].filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}

const wordsOf = (name: string, hint: string) => ({
  unreachable: { error: 'unreachable', message: `${name} does not answer. ${hint}` },
  timedOut: { error: 'timed_out', message: `${name} does not answer. ${hint}` },
  unreadable: {
    error: 'unreadable_answer',
    message: 'The answer cannot be read. Load this page again; it may be older than the service.',
  },
});
const WORDS = {
  account: wordsOf('Turnpike', 'Check your connection, then try again.'),
  region: wordsOf('The region', 'Other pages still work. Try again.'),
};
