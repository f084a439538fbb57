import type { IncomingMessage } from 'node:http';
import { ApiError } from '@turnpike/api-errors/apiError';
import type { TakenBytes } from './byteBudget.ts';
import { type JsonMember, scanJson } from './scanJson.ts';

export type BodyFault =
  | { kind: 'body_too_large'; maxBytes: number }
  | { kind: 'body_compressed' }
  | { kind: 'body_not_json_type' }
  | { kind: 'body_not_utf8' }
  | { kind: 'body_not_json' }
  | { kind: 'body_not_an_object' }
  | { kind: 'body_too_deep'; maxDepth: number }
  | { kind: 'body_too_many_values'; maxValues: number }
  | { kind: 'body_too_many_fields'; maxFields: number }
  | { kind: 'body_text_too_large'; maxBytes: number }
  /** Other calls' bodies take all the room there is for bodies. */
  | { kind: 'no_room_for_body' }
  /** The client left before its body was whole: nobody is there to be told. */
  | { kind: 'body_aborted' };

/** A JSON object as it came, as it parses, and where its members lie in the bytes. */
export interface JsonBody {
  bytes: Buffer;
  value: Record<string, unknown>;
  members: JsonMember[];
  /** The limit on bytes outside inline images: to be checked again where it is known which strings are images. */
  maxTextBytes: number;
}

export interface BodyLimits {
  maxBytes: number;
  /** Bytes outside inline images. */
  maxTextBytes: number;
}

const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;
/** Members of the outermost object: there are some fifty fields in the convention, and engines know as many more. */
const MAX_FIELDS = 512;
/** Read of a body over its limit, so that its sender gets the answer; one without end is cut then. */
const MAX_DROPPED_BYTES = 32 * 1_048_576;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

const refuse = (fault: BodyFault): ApiError<BodyFault> => new ApiError(fault);

/**
 * Reads a request's JSON body whole. Refuses it before parsing when it is too large, compressed, too deep or of too many
 * values, so that no body blocks the process; `room` is what all bodies together may take of memory. Throws a `BodyFault` (specification, Errors: always 400 on chat).
 */
export async function readBody(
  req: IncomingMessage,
  { maxBytes, maxTextBytes }: BodyLimits,
  room: Pick<TakenBytes, 'take'>,
): Promise<JsonBody> {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw refuse({ kind: 'body_compressed' });
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) throw refuse({ kind: 'body_not_json_type' });
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw refuse({ kind: 'body_too_large', maxBytes });

  const bytes = await collect(req, { maxBytes, room });
  const { depth, values, textBytes, members } = scanJson(bytes, {
    depth: MAX_DEPTH,
    values: MAX_VALUES,
    members: MAX_FIELDS,
    textBytes: maxTextBytes,
  });
  if (depth > MAX_DEPTH) throw refuse({ kind: 'body_too_deep', maxDepth: MAX_DEPTH });
  if (values > MAX_VALUES) throw refuse({ kind: 'body_too_many_values', maxValues: MAX_VALUES });
  if (members.length > MAX_FIELDS) throw refuse({ kind: 'body_too_many_fields', maxFields: MAX_FIELDS });
  if (textBytes > maxTextBytes) throw refuse({ kind: 'body_text_too_large', maxBytes: maxTextBytes });

  const value = parse(decode(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse({ kind: 'body_not_an_object' });
  // What is checked has to be what the engine reads from the bytes. V8 now and then loses a key with an escaped control
  // character; whoever writes such a key means no good, or nothing.
  if (members.some(({ key }) => !Object.hasOwn(value, key))) throw refuse({ kind: 'body_not_json' });
  return { bytes, value: value as Record<string, unknown>, members, maxTextBytes };
}

function collect(
  req: IncomingMessage,
  { maxBytes, room }: { maxBytes: number; room: Pick<TakenBytes, 'take'> },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      const hasRoom = size <= maxBytes && room.take(chunk.length);
      if (hasRoom) {
        chunks.push(chunk);
        return;
      }
      // Some of the rest is read and dropped: closing now would cut the answer off before the client has it.
      chunks.length = 0;
      if (size > maxBytes + MAX_DROPPED_BYTES) req.destroy();
      reject(refuse(size > maxBytes ? { kind: 'body_too_large', maxBytes } : { kind: 'no_room_for_body' }));
    });
    req.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    req.on('error', () => reject(refuse({ kind: 'body_aborted' })));
    req.on('close', () => reject(refuse({ kind: 'body_aborted' })));
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refuse({ kind: 'body_not_utf8' });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse({ kind: 'body_not_json' });
  }
}
