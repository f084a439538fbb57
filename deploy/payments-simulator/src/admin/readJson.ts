import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { invalid } from '../api/apiFault.ts';

/** Reads the JSON body of an order, `{}` if there is none. Throws a fault that names what is wrong. */
export async function readJson<Schema extends z.ZodType>(
  req: IncomingMessage,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = await text(req);
  const parsed = schema.safeParse(parse(body === '' ? '{}' : body));
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; '));
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw invalid('The body is not JSON.');
  }
}
