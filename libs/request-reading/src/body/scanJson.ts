import { setImmediate as nextTurn } from 'node:timers/promises';

const QUOTE = 0x22;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** 1 at each byte that begins or ends a JSON token. */
const STRUCTURAL = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]) STRUCTURAL[byte] = 1;
/** How a data URL begins, in lower case. */
const DATA_SCHEME = Buffer.from('data:');
/** Makes a capital letter of ASCII a small one. */
const LOWER_CASE = 0x20;

/** The place of one member of the outermost object in the bytes. */
export interface JsonMember {
  key: string;
  /** First byte of the key, and one past the last byte of the value. */
  start: number;
  end: number;
  valueStart: number;
}

/** A value where it stands and as it stands in the bytes. */
export interface JsonLiteral {
  path: JsonPath;
  bytes: Buffer;
}

/** Keys and places in lists, from the outermost object on. */
export type JsonPath = readonly (string | number)[];

export interface JsonShape {
  /** Nesting depth of the deepest value; 1 for a flat object. */
  depth: number;
  values: number;
  /** Members of all objects. A parser that finds fewer has met a key twice in one of them. */
  memberCount: number;
  /** Members of the object that has most. */
  mostMembers: number;
  /** Keys that begin with a digit or hold an escape: each costs several times as much as another to list or to compare. */
  dearKeys: number;
  /** The way to the member of the outermost object that was not over when looking ended; empty where there is none. */
  stoppedIn: JsonPath;
  /** Values that are copied and not written again, in the order in which they end: long strings, and what stands at `kept`. */
  literals: JsonLiteral[];
  /** Bytes outside strings that look like inline images. Whether they are some is known only once the body is parsed. */
  textBytes: number;
  members: JsonMember[];
}

/** Looking on past one of these is in vain: the body is refused, whatever follows. */
export interface ScanLimits {
  depth: number;
  values: number;
  /** Members of the outermost object. */
  members: number;
  /** Members of the object that has most. */
  membersOfOne: number;
  dearKeys: number;
  textBytes: number;
}

/** Any place in a list, in a path of `kept`. */
export const ANY_PLACE = Symbol('any place in a list');
export type KeptPath = readonly (string | typeof ANY_PLACE)[];

/** From here on it pays to copy a string's bytes. */
const LONG_TEXT_BYTES = 1_024;

/** Looked at one by one before a quote is searched for. */
const NEAR_BYTES = 64;

/** An object or list that is open at some place of the text. */
interface Level {
  start: number;
  isObject: boolean;
  /** In a list, the place of the element under way; in an object, its members so far. */
  index: number;
  /**
   * For an object: whether a key comes next, where the last key lies, and the key itself once somebody has asked for it.
   */
  isKeyNext: boolean;
  keyStart: number;
  keyEnd: number;
  key: string | undefined;
}

/**
 * Measures a JSON text by its bytes, before anything is parsed. The result has the cost of a parse, and the ranges of
 * the outermost members. A caller edits a large body by copying ranges.
 * Validates nothing. A text that `JSON.parse` refuses gives some shape. It skips strings by searching for their end,
 * so it takes about as long as a memory scan. It stops early at a limit, because the rest takes time by its bytes.
 */
export const scanJson = (bytes: Buffer, limits: ScanLimits, kept?: readonly KeptPath[]): JsonShape =>
  atOnce(scanInSteps(bytes, limits, kept));

/** The same, which may be left off and gone on with as long as the bytes stay as they are. */
export function* scanInSteps(bytes: Buffer, limits: ScanLimits, kept: readonly KeptPath[] = []): Steps<JsonShape> {
  const members: JsonMember[] = [];
  const literals: JsonLiteral[] = [];
  const levels: Level[] = [];
  let level: Level | undefined;
  let deepest = 0;
  let values = 0;
  let strings = 0;
  let memberCount = 0;
  let mostMembers = 0;
  let dearKeys = 0;
  let imageBytes = 0;
  let member: Omit<JsonMember, 'end'> | undefined;
  let position = 0;
  let stepEnd = STEP_BYTES;

  const keyOf = (object: Level): string => {
    object.key ??= parseKey(bytes, object.keyStart, object.keyEnd);
    return object.key;
  };
  const pathHere = (): JsonPath => {
    const path: (string | number)[] = [];
    for (const each of levels) path.push(each.isObject ? keyOf(each) : each.index);
    return path;
  };
  const isKept = (path: KeptPath): boolean => {
    if (path.length !== levels.length) return false;
    for (const [depth, each] of levels.entries())
      if (path[depth] !== (each.isObject ? keyOf(each) : ANY_PLACE)) return false;
    return true;
  };

  for (;;) {
    if (position >= stepEnd) {
      stepEnd = position + STEP_BYTES;
      yield;
    }
    const limit = Math.min(bytes.length, imageBytes + limits.textBytes + 1);
    // Nearly all bytes outside strings are of numbers or spaces.
    while (position < limit && STRUCTURAL[bytes[position] ?? 0] === 0) position += 1;
    if (position >= limit) break;
    const byte = bytes[position];
    if (byte === QUOTE) {
      const endOfImage = beginsAsInlineImage(bytes, position)
        ? yield* findEndOfInlineImage(bytes, position)
        : undefined;
      const end = endOfImage ?? endOfString(bytes, position, imageBytes + limits.textBytes);
      if (endOfImage !== undefined) imageBytes += endOfImage - position;
      strings += 1;
      // Each is a value or a key of one; a text of more is no JSON.
      if (strings > 2 * limits.values) {
        values = strings;
        break;
      }
      if (level?.isKeyNext) {
        level.keyStart = position;
        level.keyEnd = end;
        level.key = undefined;
      } else if (end - position >= LONG_TEXT_BYTES) {
        literals.push({ path: pathHere(), bytes: bytes.subarray(position, end) });
      }
      position = end;
      continue;
    }
    // Ends a member of the outermost object.
    if (member && levels.length === 1 && (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) {
      members.push({ ...member, end: position });
      member = undefined;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      const isObject = byte === OPEN_BRACE;
      level = { start: position, isObject, index: 0, isKeyNext: isObject, keyStart: 0, keyEnd: 0, key: undefined };
      levels.push(level);
      values += 1;
      if (levels.length > deepest) deepest = levels.length;
      if (levels.length > limits.depth) break;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      const closed = levels.pop();
      level = levels.at(-1);
      if (closed && kept.some(isKept))
        literals.push({ path: pathHere(), bytes: bytes.subarray(closed.start, position + 1) });
    } else if (byte === COMMA) {
      values += 1;
      if (level) {
        if (level.isObject) level.isKeyNext = true;
        else level.index += 1;
      }
      if (values > limits.values || members.length > limits.members) break;
    } else if (byte === COLON && level?.isKeyNext) {
      level.isKeyNext = false;
      memberCount += 1;
      level.index += 1;
      if (level.index > mostMembers) mostMembers = level.index;
      if (mostMembers > limits.membersOfOne) break;
      if (isDear(bytes, level.keyStart, level.keyEnd)) dearKeys += 1;
      if (dearKeys > limits.dearKeys) break;
      if (levels.length === 1 && !member)
        member = { key: keyOf(level), start: level.keyStart, valueStart: position + 1 };
    }
    position += 1;
  }
  return {
    depth: deepest,
    values,
    memberCount,
    mostMembers,
    dearKeys,
    stoppedIn: member ? [member.key] : [],
    literals,
    textBytes: bytes.length - imageBytes,
    members,
  };
}

/** One past the closing quote of the string that opens at `start`; or some place past `limit`, where looking on is in vain. */
function endOfString(bytes: Buffer, start: number, limit: number): number {
  let position = start + 1;
  while (position <= limit) {
    // Most strings are short, and where one quote is escaped others are near: a search for each takes as long as many bytes do.
    const near = Math.min(position + NEAR_BYTES, bytes.length);
    while (position < near) {
      const byte = bytes[position];
      if (byte === QUOTE) return position + 1;
      position += byte === BACKSLASH ? 2 : 1;
    }
    const quote = bytes.indexOf(QUOTE, position);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (quote - 1 - backslashes >= position && bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    position = quote + 1;
  }
  return Math.min(position, bytes.length);
}

function beginsAsInlineImage(bytes: Buffer, start: number): boolean {
  for (let index = 0; index < DATA_SCHEME.length; index += 1)
    if (((bytes[start + 1 + index] ?? 0) | LOWER_CASE) !== DATA_SCHEME[index]) return false;
  return true;
}

/** One past the closing quote of a string that begins as an inline image, and looks like one: nothing is escaped in base64. */
function* findEndOfInlineImage(bytes: Buffer, start: number): Steps<number | undefined> {
  for (let from = start + 1; from < bytes.length; from += STEP_BYTES) {
    const quote = bytes.subarray(from, from + STEP_BYTES).indexOf(QUOTE);
    if (quote !== -1) return bytes[from + quote - 1] === BACKSLASH ? undefined : from + quote + 1;
    yield;
  }
  return undefined;
}

/** The key from `start` to `end` as a parser reads it, so that an escaped spelling cannot pass for another key. */
function parseKey(bytes: Buffer, start: number, end: number): string {
  // To parse each of very many keys takes longer than to parse the body.
  if (!hasBackslash(bytes, start, end)) return bytes.toString('utf8', start + 1, end - 1);
  try {
    return String(JSON.parse(bytes.toString('utf8', start, end)));
  } catch {
    return '';
  }
}

/** Parsers keep keys that are numbers in an order of their own, and a digit may be written as an escape. */
function isDear(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start + 1] ?? 0;
  return (first >= DIGIT_0 && first <= DIGIT_9) || hasBackslash(bytes, start, end);
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > NEAR_BYTES) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let position = start; position < end; position += 1) if (bytes[position] === BACKSLASH) return true;
  return false;
}

/** The way to the first key that stands a second time in one object of a text that has been parsed; undefined if none does. */
export function findRepeatedKey(bytes: Buffer): JsonPath | undefined {
  const levels: { keys: Set<string> | undefined; step: string | number; isKeyNext: boolean }[] = [];
  let position = 0;
  while (position < bytes.length) {
    const byte = bytes[position];
    const level = levels.at(-1);
    if (byte === QUOTE) {
      const end = endOfString(bytes, position, bytes.length);
      if (level?.keys && level.isKeyNext) {
        level.step = parseKey(bytes, position, end);
        level.isKeyNext = false;
        if (level.keys.has(level.step)) return levels.map(({ step }) => step);
        level.keys.add(level.step);
      }
      position = end;
      continue;
    }
    if (byte === OPEN_BRACE) levels.push({ keys: new Set(), step: '', isKeyNext: true });
    else if (byte === OPEN_BRACKET) levels.push({ keys: undefined, step: 0, isKeyNext: false });
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) levels.pop();
    else if (byte === COMMA && level) {
      if (level.keys) level.isKeyNext = true;
      else level.step = Number(level.step) + 1;
    }
    position += 1;
  }
  return undefined;
}

/** Work that may be left off wherever it yields; it returns what it comes to. */
export type Steps<Result> = Generator<void, Result>;

/** Bytes that are looked at, or copied, within one step: some tens of microseconds. */
const STEP_BYTES = 65_536;

/** Longest time for which a process does nothing else than one such work. */
const SLICE_MS = 0.5;

/** Does work in slices, between which everything else has its turn. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const endsAt = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (performance.now() < endsAt);
    await nextTurn();
  }
}

/** Does work that is short, without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
