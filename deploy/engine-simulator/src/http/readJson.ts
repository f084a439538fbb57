import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { malformedRequest } from '../wire/engineError.ts';

/** vLLM itself takes a body of any size; this bound only keeps a mistake from eating the machine, and cuts the connection. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * The body of a POST, read through `schema`. Throws what vLLM answers to a wrong media type, to text that is not JSON and
 * to the first field the schema refuses, in that order.
 */
export async function readJson<Schema extends z.ZodType>(
  req: IncomingMessage,
  schema: Schema,
): Promise<z.output<Schema>> {
  const mediaType = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    req.resume();
    throw malformedRequest("Unsupported Media Type: Only 'application/json' is allowed", null);
  }
  const value = parseJson(await readBody(req));
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const location = ['body', ...(issue?.path ?? [])].map(String);
  const isMissing = valueAt(value, issue?.path ?? []) === undefined;
  throw malformedRequest(
    describeIssue(
      isMissing ? 'missing' : 'value_error',
      location,
      isMissing ? 'Field required' : (issue?.message ?? ''),
    ),
    location.join('.'),
  );
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined),
    value,
  );

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformedRequest(describeIssue('json_invalid', ['body'], 'JSON decode error'), 'body');
  }
}

/** As the framework below vLLM prints a validation error: a Python repr. */
const describeIssue = (type: string, location: string[], message: string): string =>
  `1 validation error:\n  {'type': '${type}', 'loc': (${location.map((part) => `'${part}'`).join(', ')}), 'msg': '${message}'}`;

function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > MAX_BODY_BYTES) req.destroy();
    });
    req.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    req.once('error', reject);
    req.once('close', () => reject(new Error('the client left before its request was complete')));
  });
}
