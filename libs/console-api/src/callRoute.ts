import type { ApiRoute } from '@turnpike/internal-api/internalApi';
import * as z from 'zod/mini';

/** A refused call, or one without an answer: `status` is 0 then, and `error` is `unreachable`. */
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
type Arguments<R> = unknown extends Question<R> ? [] : [question: Question<R>];

/**
 * Calls a route from a browser, with the cookies of its own origin. Returns the answer, without fields that the declaration does not
 * have. Throws `Refused` for each refusal, and if no answer comes.
 */
export async function callRoute<const R extends ApiRoute>(
  route: R,
  ...[question]: Arguments<R>
): Promise<z.output<R['answer']>> {
  const { params = {}, body }: { params?: Record<string, string | undefined>; body?: unknown } = question ?? {};
  const response = await fetch(toAddress(route.path, params), {
    method: route.method,
    credentials: 'same-origin',
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Refused(0, UNREACHABLE);
  });
  const content: unknown = await response.json().catch(() => undefined);
  if (response.ok) {
    const answer = z.safeParse(route.answer, content);
    if (!answer.success) throw new Refused(response.status, UNREADABLE);
    return answer.data as z.output<R['answer']>;
  }
  const refusal = z.safeParse(refusalSchema, content);
  throw new Refused(response.status, refusal.success ? refusal.data : UNREADABLE);
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

const UNREACHABLE = {
  error: 'unreachable',
  message: 'The account layer does not answer. Check your connection, then try again.',
};
const UNREADABLE = {
  error: 'unreadable_answer',
  message: 'The answer of the account layer cannot be read. Load this page again; it may be older than the service.',
};
