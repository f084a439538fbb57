import { ApiError } from '@turnpike/public-api/apiError';
import { type JsonBody, parseBody } from '@turnpike/request-reading/body/readBody';
import type { JsonPath } from '@turnpike/request-reading/body/scanJson';
import type { CallFault } from '../api/inferenceFault.ts';
import { CHAT, parseChatRequest } from './chatRequest.ts';
import type { InferenceRequest, Operation } from './inferenceRequest.ts';
import { type PlacedLiteral, toLiteralTree, writeJson } from './writeJson.ts';

/** The client's bytes of long strings and JSON schemas, by the parsed value. */
export type KnownBytes = Map<unknown, readonly Buffer[]>;

/** Returns the long strings and schemas of a body. Their bytes are copied into the new body. */
export function knownBytesOf({ value, literals }: Pick<JsonBody, 'value' | 'literals'>): KnownBytes {
  const known: KnownBytes = new Map();
  for (const { path, bytes } of literals) known.set(valueAt(value, path), [bytes]);
  return known;
}

function valueAt(value: unknown, path: JsonPath): unknown {
  let found = value;
  for (const step of path) found = (found as Record<string | number, unknown>)[step];
  return found;
}

/** Least length of a copied string. Writing a shorter one again is cheaper than a map access. */
const LONG_TEXT = 512;

/**
 * Writes a chat's body and parses it like a client's, so that chats in every API have the same checks and bytes.
 * `known` values are copied. Throws the faults of a chat, with the field names of the operation's API.
 */
export async function parseAsChat(chat: object, known: KnownBytes, operation: Operation): Promise<InferenceRequest> {
  const literals = known.size > 0 ? toLiteralTree(placesOf(chat, known, [])) : undefined;
  const inWords = <Result>(check: () => Result): Result => {
    try {
      return check();
    } catch (error) {
      throw error instanceof ApiError ? new ApiError(inWordsOf(operation, error.fault as CallFault)) : error;
    }
  };
  const body = await parseBody(writeJson(chat, literals?.size ? literals : undefined), CHAT.limits);
  const request = inWords(() => parseChatRequest(body));
  return { ...request, operation, checkModel: (model, served) => inWords(() => request.checkModel(model, served)) };
}

/**
 * Returns a fault of a chat with the field names of the operation's API. The name of a list replaces that of its
 * element.
 */
export function inWordsOf({ fieldNames }: Pick<Operation, 'fieldNames'>, fault: CallFault): CallFault {
  if (!fieldNames) return fault;
  if (fault.kind === 'image_unusable') return { ...fault, param: fieldNames.messages ?? 'messages' };
  if ((fault.kind !== 'invalid_request' && fault.kind !== 'engine_refused') || fault.param === null) return fault;
  const [root = ''] = fault.param.split(/[.[]/, 1);
  const name = fieldNames[root];
  if (name === undefined) return fault;
  const written = fault.message.includes(fault.param) ? fault.param : root;
  return { ...fault, param: name, message: fault.message.replace(written, name) };
}

function* placesOf(value: unknown, known: KnownBytes, path: JsonPath): Generator<PlacedLiteral> {
  if (typeof value === 'string' && value.length < LONG_TEXT) return;
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return;
  const pieces = known.get(value);
  if (pieces) yield { path, pieces };
  else if (Array.isArray(value))
    for (const [index, element] of value.entries()) yield* placesOf(element, known, [...path, index]);
  else if (typeof value === 'object')
    for (const [key, member] of Object.entries(value)) yield* placesOf(member, known, [...path, key]);
}
