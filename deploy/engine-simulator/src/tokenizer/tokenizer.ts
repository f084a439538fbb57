import { words } from './vocabulary.ts';

/**
 * A token of a fixed, reversible, byte-level tokenizer (README, Tokenizer). Text is cut into pieces. A piece is a run
 * of word bytes with one space before it, or a run of other bytes. Word bytes are letters, digits and every byte of a
 * multi-byte character. A piece in the vocabulary is one token. Any other is cut into packs of at most three bytes. So
 * text never has more tokens than bytes.
 */
export type TokenId = number;

/** Special tokens, which only the chat template writes. Text never becomes one. */
export const specialTokens = {
  begin: 256,
  messageStart: 257,
  messageEnd: 258,
  newline: 259,
  system: 260,
  developer: 261,
  user: 262,
  assistant: 263,
  tool: 264,
  function: 265,
} as const;

const specialText = new Map<TokenId, string>([
  [specialTokens.begin, '<|begin|>'],
  [specialTokens.messageStart, '<|im_start|>'],
  [specialTokens.messageEnd, '<|im_end|>'],
  [specialTokens.newline, '\n'],
  [specialTokens.system, 'system\n'],
  [specialTokens.developer, 'developer\n'],
  [specialTokens.user, 'user\n'],
  [specialTokens.assistant, 'assistant\n'],
  [specialTokens.tool, 'tool\n'],
  [specialTokens.function, 'function\n'],
]);

const FIRST_BARE_WORD = 300;
const FIRST_SPACED_WORD = FIRST_BARE_WORD + words.length;
const FIRST_PAIR = 10_000;
const FIRST_TRIPLE = FIRST_PAIR + 0x1_0000;
/** First id of image placeholders. The rest of the id is a hash of the image. */
const FIRST_IMAGE = FIRST_TRIPLE + 0x100_0000;

const SPACE = 0x20;
const isWordByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || /[A-Za-z0-9_]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

const vocabularyText = new Map<TokenId, string>(specialText);
const vocabularyByHash = new Map<number, { id: TokenId; bytes: Buffer }>();
words.forEach((word, index) => {
  vocabularyText.set(FIRST_BARE_WORD + index, word);
  vocabularyText.set(FIRST_SPACED_WORD + index, ` ${word}`);
});
for (let id = FIRST_BARE_WORD; id < FIRST_BARE_WORD + 2 * words.length; id += 1) {
  const bytes = Buffer.from(vocabularyText.get(id) ?? '');
  const hash = hashPiece(bytes, 0, bytes.length);
  if (vocabularyByHash.has(hash)) throw new Error(`two words of the vocabulary share the hash ${hash}`);
  vocabularyByHash.set(hash, { id, bytes });
}

function hashPiece(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash;
}

function findPiece(bytes: Buffer, from: number, to: number): TokenId | undefined {
  const entry = vocabularyByHash.get(hashPiece(bytes, from, to));
  return entry && bytes.compare(entry.bytes, 0, entry.bytes.length, from, to) === 0 ? entry.id : undefined;
}

function packBytes(bytes: Buffer, from: number, size: number): TokenId {
  const first = bytes[from] ?? 0;
  if (size === 1) return first;
  const second = bytes[from + 1] ?? 0;
  if (size === 2) return FIRST_PAIR + first * 0x100 + second;
  return FIRST_TRIPLE + first * 0x1_0000 + second * 0x100 + (bytes[from + 2] ?? 0);
}

/** Returns the end of the piece that starts at `from`. A space belongs to the word after it. */
function endOfPiece(bytes: Buffer, from: number): number {
  const isWordAt = (at: number) => isWordByte[bytes[at] ?? 0] === 1;
  let at = from;
  if (isWordAt(at) || (bytes[at] === SPACE && isWordAt(at + 1))) {
    at += 1;
    while (at < bytes.length && isWordAt(at)) at += 1;
    return at;
  }
  at += 1;
  while (at < bytes.length && !isWordAt(at) && !(bytes[at] === SPACE && isWordAt(at + 1))) at += 1;
  return at;
}

/** The longest piece worth looking up: no word of the vocabulary is longer. */
const LONGEST_WORD_BYTES = Math.max(...words.map((word) => Buffer.byteLength(word))) + 1;

/** Text to token ids. Lone surrogates count as U+FFFD, as in any UTF-8 encoding. */
export function encode(text: string): TokenId[] {
  const bytes = Buffer.from(text);
  const ids: TokenId[] = [];
  let from = 0;
  while (from < bytes.length) {
    const to = endOfPiece(bytes, from);
    const known = to - from <= LONGEST_WORD_BYTES ? findPiece(bytes, from, to) : undefined;
    if (known !== undefined) ids.push(known);
    else for (let at = from; at < to; at += 3) ids.push(packBytes(bytes, at, Math.min(3, to - at)));
    from = to;
  }
  return ids;
}

/** The text of a token that is text by itself: a word, a special token, one ASCII byte. Undefined for packs of bytes. */
export function textOfToken(id: TokenId): string | undefined {
  return id < 0x80 ? String.fromCharCode(id) : vocabularyText.get(id);
}

/** Returns the bytes of a token. An id that no text or image makes has none. */
export function bytesOfToken(id: TokenId): Buffer {
  const text = vocabularyText.get(id);
  if (text !== undefined) return Buffer.from(text);
  if (id < 0x100) return Buffer.of(id);
  if (id >= FIRST_PAIR && id < FIRST_TRIPLE) return Buffer.of((id - FIRST_PAIR) >> 8, (id - FIRST_PAIR) & 0xff);
  if (id >= FIRST_TRIPLE && id < FIRST_IMAGE) {
    const packed = id - FIRST_TRIPLE;
    return Buffer.of(packed >> 16, (packed >> 8) & 0xff, packed & 0xff);
  }
  return Buffer.from(id >= FIRST_IMAGE ? '<|image_pad|>' : '');
}

/** Token ids back to text: `decode(encode(text))` is `text`. */
export function decode(ids: readonly TokenId[]): string {
  return Buffer.concat(ids.map(bytesOfToken)).toString('utf8');
}

/** The token for a word of the vocabulary, by its index. */
export const wordToken = (index: number, { spaced }: { spaced: boolean }): TokenId =>
  (spaced ? FIRST_SPACED_WORD : FIRST_BARE_WORD) + index;

/** The placeholder token of an image, different for different images so that they never share cached blocks. */
export const imageToken = (imageHash: number): TokenId => FIRST_IMAGE + (imageHash & 0xff_ffff);
