import { endOfString } from '../wire/scanJson.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE_TEXT = Buffer.from('"');
/** A string this long is an inline image: no address to fetch is, even with every character escaped. */
const MAX_STRING_BYTES = 65_536;

/** An object or list that is open at some place of the text; `key` is that of the member under way. */
interface Level {
  isObject: boolean;
  key: string | undefined;
  isKeyNext: boolean;
}

/**
 * The bytes of a `messages` member in pieces, with every image address that was fetched replaced by its `data:` URL. All
 * else stays as the client wrote it: digits, spellings, parts that only engines know, and texts that hold the same address.
 * Throws if fewer than `expected` addresses are found: an engine must not get one it would fetch itself.
 */
export function replaceImageUrls(
  bytes: Buffer,
  { fetched, expected }: { fetched: ReadonlyMap<string, Buffer>; expected: number },
): Buffer[] {
  if (expected === 0) return [bytes];
  const pieces: Buffer[] = [];
  let copied = 0;
  let replaced = 0;
  for (const { start, end } of findImageUrls(bytes)) {
    if (end - start > MAX_STRING_BYTES) continue;
    const dataUrl = fetched.get(toText(bytes.subarray(start, end)));
    if (!dataUrl) continue;
    pieces.push(bytes.subarray(copied, start), QUOTE_TEXT, dataUrl, QUOTE_TEXT);
    copied = end;
    replaced += 1;
  }
  if (replaced < expected) throw new Error(`${replaced} of ${expected} image addresses found in the body`);
  pieces.push(bytes.subarray(copied));
  return pieces;
}

const toText = (bytes: Buffer): string => String(JSON.parse(bytes.toString('utf8')));

/** The strings that stand where an image address does, by place alone, in a text that has been parsed before. */
function* findImageUrls(bytes: Buffer): Generator<{ start: number; end: number }> {
  const levels: Level[] = [];
  let position = 0;
  while (position < bytes.length) {
    const level = levels.at(-1);
    switch (bytes[position]) {
      case QUOTE: {
        const start = position;
        position = endOfString(bytes, start, bytes.length);
        if (level?.isKeyNext) {
          level.key = toText(bytes.subarray(start, position));
          level.isKeyNext = false;
        } else if (isImagePlace(levels)) yield { start, end: position };
        continue;
      }
      case OPEN_BRACE:
        levels.push({ isObject: true, key: undefined, isKeyNext: true });
        break;
      case OPEN_BRACKET:
        levels.push({ isObject: false, key: undefined, isKeyNext: false });
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop();
        break;
      case COMMA:
        if (level) level.isKeyNext = level.isObject;
        break;
    }
    position += 1;
  }
}

/** `[message].content[part].image_url`, or `.url` below it. */
function isImagePlace([messages, message, parts, part, image, ...deeper]: Level[]): boolean {
  const isPart =
    messages?.isObject === false &&
    message?.key === 'content' &&
    parts?.isObject === false &&
    part?.key === 'image_url' &&
    deeper.length === 0;
  return isPart && (image === undefined || image.key === 'url');
}
