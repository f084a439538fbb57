import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '@turnpike/public-api/apiError';
import type { BodyFault } from '../faults/bodyFault.ts';
import { toParam } from '../fields/fieldReader.ts';
import { findDataHeader, lookAtBase64 } from '../images/decodeInlineImage.ts';
import type { TakenBytes } from '../shares/bodyMemory.ts';
import { findUnsendableText } from './findUnsendableText.ts';
import {
  atOnce,
  findRepeatedKey,
  inSlices,
  type JsonLiteral,
  type JsonMember,
  type JsonPath,
  type KeptPath,
  type Steps,
  scanInSteps,
} from './scanJson.ts';

/** A JSON object as it came, as it parses, and where its members lie in the bytes. No key stands twice in any object of it. */
export interface JsonBody {
  bytes: Buffer;
  value: Record<string, unknown>;
  members: JsonMember[];
  /** Values that are dear to write as JSON again, or not to be changed in a digit. */
  literals: JsonLiteral[];
  /** The limit on bytes outside inline images: to be checked again where it is known which strings are images. */
  maxTextBytes: number;
}

export interface BodyLimits {
  maxBytes: number;
  /** Bytes outside inline images. */
  maxTextBytes: number;
  /** Longest wait for more of a body that is not whole. */
  silenceMs?: number;
  /** Objects that are passed on as they are, once they are known to be objects. */
  kept?: readonly KeptPath[];
  /** Longest wait for the whole of it. */
  wholeMs?: number;
}

const SILENCE_MS = 30_000;
/** Less than a listener waits for a request, so that the refusal is ours and names the call. */
const WHOLE_MS = 120_000;
const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;
/** Members of the outermost object: there are some fifty fields in the convention, and engines know as many more. */
const MAX_FIELDS = 512;
/** Members of any one object: parsers take ten times as long for each where one has very many. */
const MAX_FIELDS_OF_ONE = 4_096;
/**
 * Limit on keys of all objects that begin with a digit or have an escape. Such a key costs up to a microsecond, others
 * a tenth of that.
 */
const MAX_DEAR_KEYS = 8_192;
/**
 * Limit on keys of all objects that are compared to find a repeated one, at some 200 ns each. Beyond the limit the
 * error does not name the key.
 */
const MAX_COMPARED_KEYS = 50_000;
/** Read of a body over its limit, so that its sender gets the answer; one without end is cut then. */
const MAX_DROPPED_BYTES = 32 * 1_048_576;
/** A longer one is put together, looked at and parsed in slices: what else goes on would wait for it. */
const MAX_BYTES_AT_ONCE = 262_144;
/** Only so can JSON write what UTF-8 cannot, or a NUL character. */
const UNICODE_ESCAPE = Buffer.from('\\u');
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** The part of the body memory that keeps the body's bytes until its call ends. */
type UploadMemory = Pick<TakenBytes, 'take' | 'refusal' | 'beginUpload'>;

const refuse = (fault: BodyFault): ApiError<BodyFault> => new ApiError(fault);

/**
 * Reads a request's JSON body. Refuses it before parsing if it is too large, compressed, too deep or has too many
 * values, so that no body blocks the process. `room` limits the memory of all bodies together. Throws a `BodyFault`,
 * which chat answers with 400.
 */
export async function readBody(req: IncomingMessage, limits: BodyLimits, room: UploadMemory): Promise<JsonBody> {
  const { maxBytes, silenceMs = SILENCE_MS, wholeMs = WHOLE_MS } = limits;
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw refuse({ kind: 'body_compressed' });
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) throw refuse({ kind: 'body_not_json_type' });
  const sentBytes = Number(req.headers['content-length'] ?? 0);
  if (sentBytes > maxBytes) throw refuse({ kind: 'body_too_large', maxBytes, sentBytes });

  // Bytes that came with the headers are read from the connection in the next tick.
  if (!req.complete) await nextTurn();
  const isHere = req.complete && !req.destroyed && req.readableLength <= maxBytes;
  // Most bodies have come with their headers: then there is nothing to wait for.
  if (!isHere || !room.take(req.readableLength))
    return parseBody(await collect(req, { maxBytes, silenceMs, wholeMs, room }), limits);
  const bytes = req.read() as Buffer | null;
  return parseBody(bytes ? [bytes] : [], limits);
}

/** Parses a whole body, a long one in slices. Throws the `BodyFault`s that are found in its bytes. */
export function parseBody(
  pieces: Buffer[],
  limits: Pick<BodyLimits, 'maxTextBytes' | 'kept'>,
): JsonBody | Promise<JsonBody> {
  let size = 0;
  for (const { length } of pieces) size += length;
  if (size > MAX_BYTES_AT_ONCE) return inSlices(readInSteps(pieces, size, limits));
  return toJsonBody(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces), limits);
}

function* readInSteps(
  pieces: Buffer[],
  size: number,
  limits: Pick<BodyLimits, 'maxTextBytes' | 'kept'>,
): Steps<JsonBody> {
  return yield* toJsonBodyInSteps(yield* joinInSteps(pieces, size), limits);
}

/** Parses a whole body. Throws the `BodyFault`s that are found in its bytes. */
export const toJsonBody = (bytes: Buffer, limits: Pick<BodyLimits, 'maxTextBytes' | 'kept'>): JsonBody =>
  atOnce(toJsonBodyInSteps(bytes, limits));

function* toJsonBodyInSteps(
  read: Buffer,
  { maxTextBytes, kept }: Pick<BodyLimits, 'maxTextBytes' | 'kept'>,
): Steps<JsonBody> {
  // RFC 8259, 8.1 allows to skip one UTF-8 byte order mark.
  const hasMark = read.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const bytes = hasMark ? read.subarray(BYTE_ORDER_MARK.length) : read;
  const limits = {
    depth: MAX_DEPTH,
    values: MAX_VALUES,
    members: MAX_FIELDS,
    membersOfOne: MAX_FIELDS_OF_ONE,
    dearKeys: MAX_DEAR_KEYS,
    textBytes: maxTextBytes,
  };
  const shape = yield* scanInSteps(bytes, limits, kept);
  const { depth, values, textBytes, members, memberCount, mostMembers, dearKeys, literals } = shape;
  if (depth > MAX_DEPTH) throw refuse({ kind: 'body_too_deep', maxDepth: MAX_DEPTH });
  if (values > MAX_VALUES) throw refuse({ kind: 'body_too_many_values', maxValues: MAX_VALUES });
  if (members.length > MAX_FIELDS) throw refuse({ kind: 'body_too_many_fields', maxFields: MAX_FIELDS });
  if (mostMembers > MAX_FIELDS_OF_ONE) throw refuse({ kind: 'body_object_too_large', maxFields: MAX_FIELDS_OF_ONE });
  if (dearKeys > MAX_DEAR_KEYS)
    throw refuse({ kind: 'body_too_many_dear_keys', maxKeys: MAX_DEAR_KEYS, param: toParam(shape.stoppedIn) });
  if (textBytes > maxTextBytes) throw refuse({ kind: 'body_text_too_large', maxBytes: maxTextBytes });

  const { rest, images } = literals.length === 0 ? { rest: bytes, images: [] } : yield* cutImages(bytes, literals);
  const value = parse(rest, memberCount);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse({ kind: 'body_not_an_object' });
  const unsendable = rest.includes(UNICODE_ESCAPE) ? findUnsendableText(value) : undefined;
  if (unsendable) throw refuse({ kind: 'body_text_unsendable', has: unsendable.has, param: toParam(unsendable.path) });
  if (images.length > 0) putImagesBack(value, images);
  return { bytes, value: value as Record<string, unknown>, members, literals, maxTextBytes };
}

function collect(
  req: IncomingMessage,
  { maxBytes, silenceMs, wholeMs, room }: { maxBytes: number; silenceMs: number; wholeMs: number; room: UploadMemory },
): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isOver = false;
    const giveUp = (error: ApiError): void => {
      isOver = true;
      chunks.length = 0;
      clearTimeout(silence);
      clearTimeout(deadline);
      reject(error);
    };
    const silence = setTimeout(() => giveUp(refuse({ kind: 'body_too_slow', silenceMs })), silenceMs);
    const deadline = setTimeout(() => giveUp(refuse({ kind: 'body_unfinished', wholeMs })), wholeMs);
    const uploaded = room.beginUpload(giveUp);
    const giveWay = createGivingWay(req);
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      giveWay(chunk.length);
      // Some of the rest is read and dropped: closing now would cut the answer off before the client has it.
      if (size > maxBytes + MAX_DROPPED_BYTES) req.destroy();
      if (isOver) return;
      silence.refresh();
      if (size > maxBytes) giveUp(refuse({ kind: 'body_too_large', maxBytes }));
      else if (!room.take(chunk.length)) giveUp(room.refusal());
      else chunks.push(chunk);
    });
    req.on('end', () => {
      isOver = true;
      clearTimeout(silence);
      clearTimeout(deadline);
      uploaded();
      // The request is there as long as its answer, and would keep them.
      resolve(chunks.splice(0));
    });
    // A request that has been read to its end also emits `close`.
    const abort = (): void => {
      if (!isOver) giveUp(refuse({ kind: 'body_aborted' }));
    };
    req.on('error', abort);
    req.on('close', abort);
    // A client that left while its key was looked up sends no further event.
    if (req.destroyed) abort();
  });
}

/** A connection is read from for as long as there is something, up to 2 MiB: what else goes on has its turn more often. */
function createGivingWay(req: IncomingMessage): (bytes: number) => void {
  let read = 0;
  return (bytes) => {
    read += bytes;
    if (read < MAX_BYTES_AT_ONCE) return;
    read = 0;
    req.pause();
    setImmediate(() => req.resume());
  };
}

/** Puts a body of so many bytes together; each piece is let go of as it is copied. */
function* joinInSteps(pieces: Buffer[], size: number): Steps<Buffer> {
  const whole = Buffer.allocUnsafeSlow(size);
  let end = 0;
  for (const [index, piece] of pieces.entries()) {
    whole.set(piece, end);
    end += piece.length;
    pieces[index] = EMPTY;
    yield;
  }
  return whole;
}

const EMPTY = Buffer.alloc(0);
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parse(bytes: Buffer, memberCount: number): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw refuse({ kind: 'body_not_utf8' });
  }
  const refuseRepeatedKey = (): void => {
    const isLookedFor = memberCount <= MAX_COMPARED_KEYS;
    const path = isLookedFor ? findRepeatedKey(bytes) : [];
    if (path) throw refuse({ kind: 'body_key_repeated', param: toParam(path) });
  };
  try {
    const parsed = parseAsScanned(text, { memberCount, refuseRepeatedKey });
    if (parsed) return parsed.value;
  } catch (error) {
    throw error instanceof SyntaxError ? refuse({ kind: 'body_not_json' }) : error;
  }
  throw refuse({ kind: 'body_keys_unreadable' });
}

/** Shorter data URLs are cheap to parse in one piece. */
const LEAST_IMAGE_BYTES = 16_384;
const LONGEST_HEADER = 300;
/** Looked at within one step: a text of so many characters is gone with the young ones. */
const CHECKED_LENGTH = 16_384;

/** An inline image, and where it stands. */
interface CutImage {
  path: JsonPath;
  url: string;
}

/** A JSON text in which long inline images are empty strings, and those images. */
interface CutText {
  rest: Buffer;
  images: readonly CutImage[];
}

/**
 * Cuts long inline images out of a JSON text. A parser takes several times as long for one as all other steps here
 * together, and blocks the process meanwhile. Only text that is base64 to its end is cut, because it is the same in
 * JSON and in UTF-8.
 */
function* cutImages(bytes: Buffer, literals: readonly JsonLiteral[]): Steps<CutText> {
  const images: CutImage[] = [];
  const pieces: Buffer[] = [];
  let end = 0;
  for (const { path, bytes: literal } of literals) {
    if (literal.length < LEAST_IMAGE_BYTES || path.length === 0) continue;
    const url = yield* toBase64Url(literal);
    if (url === undefined) continue;
    images.push({ path, url });
    const start = literal.byteOffset - bytes.byteOffset;
    pieces.push(bytes.subarray(end, start + 1));
    end = start + literal.length - 1;
  }
  return { rest: images.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(end)]), images };
}

/** Puts the images back into what the rest was parsed to. */
function putImagesBack(value: unknown, images: readonly CutImage[]): void {
  for (const { path, url } of images) {
    const holder = path.slice(0, -1).reduce((node, step) => (node as Node)[step], value) as Node;
    holder[path.at(-1) as JsonPath[number]] = url;
  }
}

type Node = Record<string | number, unknown>;

function* toBase64Url(literal: Buffer): Steps<string | undefined> {
  const header = findDataHeader(literal.toString('latin1', 1, LONGEST_HEADER));
  // An escape is not the same in JSON and in the address.
  if (header === undefined || header.includes('\\')) return undefined;
  const end = literal.length - 1;
  for (let start = 1 + header.length; start < end; start += CHECKED_LENGTH) {
    const text = literal.toString('latin1', start, Math.min(start + CHECKED_LENGTH, end));
    const isLast = start + CHECKED_LENGTH >= end;
    if (!lookAtBase64(text) || (!isLast && text.endsWith('='))) return undefined;
    yield;
  }
  return literal.toString('latin1', 1, end);
}

/**
 * Parses a JSON text whose number of members is known from its bytes. If the parser finds fewer, there are two causes.
 * - A key is twice in one object. `refuseRepeatedKey` throws for it, because another parser may read another value than
 * was checked.
 * - V8's parser has lost a member whose key has an escaped control character, depending on what it parsed before.
 * A second parse usually finds such a member. Returns undefined if it does not. Rethrows errors of the parser.
 */
export function parseAsScanned(
  text: string,
  { memberCount, refuseRepeatedKey }: { memberCount: number; refuseRepeatedKey: () => void },
  parse: (text: string) => unknown = JSON.parse,
): { value: unknown } | undefined {
  const value = parse(text);
  if (countMembers(value) === memberCount) return { value };
  refuseRepeatedKey();
  const again = parse(text);
  return countMembers(again) === memberCount ? { value: again } : undefined;
}

/** The members of all objects in a parsed value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object') count += countMembers(element);
    return count;
  }
  // `for … in` takes twice as long where keys are numbers.
  for (const key of Object.keys(value)) {
    const member = value[key as keyof typeof value] as unknown;
    count += typeof member === 'object' ? 1 + countMembers(member) : 1;
  }
  return count;
}
