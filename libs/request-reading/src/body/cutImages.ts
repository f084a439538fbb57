import { findDataHeader, lookAtBase64 } from '../images/decodeInlineImage.ts';
import type { Steps } from './inSlices.ts';
import type { JsonLiteral, JsonPath } from './scanJson.ts';

/** Shorter data URLs are cheap to parse in one piece. */
const LEAST_BYTES = 16_384;
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
export function* cutImages(bytes: Buffer, literals: readonly JsonLiteral[]): Steps<CutText> {
  const images: CutImage[] = [];
  const pieces: Buffer[] = [];
  let end = 0;
  for (const { path, bytes: literal } of literals) {
    if (literal.length < LEAST_BYTES || path.length === 0) continue;
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
export function putImagesBack(value: unknown, images: readonly CutImage[]): void {
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
