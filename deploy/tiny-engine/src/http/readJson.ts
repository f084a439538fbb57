import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { z } from 'zod';
import { malformedRequest } from '../wire/engineError.ts';

/** Several windows of any text; more is never a prompt that fits. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The body of a request, read through `schema`. Throws a 400 that names the first wrong field. */
export async function readJson<Schema extends z.ZodType>(
  req: IncomingMessage,
  schema: Schema,
): Promise<z.output<Schema>> {
  const value = await json(limited(req)).catch((error: unknown) => {
    throw error instanceof SyntaxError ? malformedRequest('the body is not JSON', 'body') : error;
  });
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.join('.') || 'body';
  throw malformedRequest(`1 validation error: ${param}: ${issue?.message}`, param);
}

async function* limited(req: IncomingMessage): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw malformedRequest(`the body is longer than ${MAX_BODY_BYTES} bytes`, 'body');
    yield chunk;
  }
}
