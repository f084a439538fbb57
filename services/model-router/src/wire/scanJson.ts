const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Some writers of JSON escape the slash. */
const INLINE_IMAGE_PREFIXES = [Buffer.from('data:image/'), Buffer.from('data:image\\/')];

/** Where one member of the outermost object lies in the bytes. */
export interface JsonMember {
  key: string;
  /** First byte of the key, and one past the last byte of the value. */
  start: number;
  end: number;
  valueStart: number;
}

export interface JsonShape {
  /** Nesting depth of the deepest value; 1 for a flat object. */
  depth: number;
  values: number;
  /** Bytes outside strings that look like inline images. Whether they are some is known only once the body is parsed. */
  textBytes: number;
  members: JsonMember[];
}

/** Looking on past one of these is in vain: the body is refused, whatever follows. */
export interface ScanLimits {
  depth: number;
  values: number;
  members: number;
  textBytes: number;
}

/**
 * Measures a JSON text by its bytes, before anything is parsed: what a parser would cost, and where the outermost
 * members lie, so that a large body is edited by copying ranges. It does not validate; a text that `JSON.parse` refuses
 * gives some shape. Strings are skipped by searching for their end, so the time is mostly that of a memory scan.
 * Stops early when a limit is passed, as the time of the rest is that of its bytes.
 */
export function scanJson(bytes: Buffer, limits: ScanLimits): JsonShape {
  const members: JsonMember[] = [];
  let depth = 0;
  let deepest = 0;
  let values = 0;
  let imageBytes = 0;
  let member: Omit<JsonMember, 'end'> | undefined;
  let lastString: [number, number] = [0, 0];
  let position = 0;

  const closeMember = (end: number): void => {
    if (!member) return;
    members.push({ ...member, end });
    member = undefined;
  };

  while (position < bytes.length && position - imageBytes <= limits.textBytes) {
    const byte = bytes[position];
    if (byte === QUOTE) {
      const endOfImage = findEndOfInlineImage(bytes, position);
      const end = endOfImage ?? endOfString(bytes, position, imageBytes + limits.textBytes);
      if (endOfImage !== undefined) imageBytes += endOfImage - position;
      lastString = [position, end];
      position = end;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      values += 1;
      if (depth > deepest) deepest = depth;
      if (depth > limits.depth) break;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 1) closeMember(position);
      depth -= 1;
    } else if (byte === COMMA) {
      values += 1;
      if (depth === 1) closeMember(position);
      if (values > limits.values || members.length > limits.members) break;
    } else if (byte === COLON && depth === 1 && !member) {
      const [start, end] = lastString;
      member = { key: parseKey(bytes.subarray(start, end)), start, valueStart: position + 1 };
    }
    position += 1;
  }
  return { depth: deepest, values, textBytes: bytes.length - imageBytes, members };
}

/** One past the closing quote of the string that opens at `start`; or some place past `limit`, where looking on is in vain. */
export function endOfString(bytes: Buffer, start: number, limit: number): number {
  let quote = start;
  for (;;) {
    if (quote > limit) return quote;
    quote = bytes.indexOf(QUOTE, quote + 1);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** One past the closing quote of a string that looks like an inline image: nothing is escaped in base64. */
function findEndOfInlineImage(bytes: Buffer, start: number): number | undefined {
  const isImage = INLINE_IMAGE_PREFIXES.some(
    (prefix) => bytes[start + 1] === prefix[0] && bytes.subarray(start + 1, start + 1 + prefix.length).equals(prefix),
  );
  if (!isImage) return undefined;
  const quote = bytes.indexOf(QUOTE, start + 1);
  return quote === -1 || bytes[quote - 1] === BACKSLASH ? undefined : quote + 1;
}

/** The key as a parser reads it, so that an escaped spelling cannot pass for another key. */
function parseKey(bytes: Buffer): string {
  try {
    return String(JSON.parse(bytes.toString('utf8')));
  } catch {
    return '';
  }
}
