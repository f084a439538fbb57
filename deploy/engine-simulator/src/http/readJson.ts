import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { type EngineError, malformedRequest } from '../wire/engineError.ts';

/** Most bytes of a body, to protect the machine; a larger one has its connection cut. vLLM itself takes any size. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Reads the body of a POST through `schema`. Throws vLLM's errors, in this order: a wrong media type, text that is not
 * JSON, and the first field that the schema refuses.
 */
export async function readJson<Schema extends z.ZodType>(
  req: IncomingMessage,
  schema: Schema,
): Promise<z.output<Schema>> {
  const mediaType = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    req.resume();
    throw malformedRequest("1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed", null);
  }
  const value = parseJson(await readBody(req));
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue?.path ?? [];
  const isMissing = valueAt(value, path) === undefined;
  throw invalidAt(['body', ...path].join('.'), {
    type: isMissing ? 'missing' : 'value_error',
    message: isMissing ? 'Field required' : (issue?.message ?? ''),
    input: valueAt(value, isMissing ? path.slice(0, -1) : path),
  });
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined),
    value,
  );

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, position = text.length] = /at position (\d+)/.exec(String(error)) ?? [];
    throw invalidAt(`body.${position}`, { type: 'json_invalid', message: 'JSON decode error', input: {} });
  }
}

/**
 * Returns a validation error as vLLM prints it: like a Python dict. Of the input it has only the kind and size, or a
 * plain value.
 */
const invalidAt = (
  location: string,
  { type, message, input }: { type: string; message: string; input: unknown },
): EngineError =>
  malformedRequest(
    `1 validation error:\n  {'type': '${type}', 'loc': '${location}', 'msg': '${message}', 'input': '${summarize(input)}'}`,
    location,
  );

function summarize(input: unknown): string {
  if (Array.isArray(input)) return `<list of ${input.length} items>`;
  if (typeof input === 'object' && input !== null) return `<dict of ${Object.keys(input).length} items>`;
  return input === null || input === undefined ? 'None' : String(input);
}

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
