import { findFormat } from './checkImage.ts';
import { ImageError } from './imageError.ts';

/** Whether an image address holds the image itself; every other one has to be fetched. */
export const isInline = (url: string): boolean => /^data:/i.test(url);

/**
 * The header of a base64 data URL: any type, and any parameters before `base64` (RFC 2397), which is lower-case because
 * engines read no other.
 */
const HEADER = /^[Dd][Aa][Tt][Aa]:[\x20-\x2b\x2d-\x7e]{0,256};base64,/;
/** Letters of base64 that show an image's format. */
const FORMAT_LETTERS = 32;

/** The header of a base64 data URL, its comma included. Undefined for every other address. */
export const findDataHeader = (url: string): string | undefined => HEADER.exec(url)?.[0];

/** The data URL with the media type that its bytes begin as. Undefined if it is not base64, or their format is unknown. */
export function toTypedDataUrl(url: string): string | undefined {
  const header = findDataHeader(url);
  if (header === undefined) return undefined;
  const first = url.slice(header.length, header.length + FORMAT_LETTERS);
  const format = findFormat(Buffer.from(first, 'base64'));
  if (!format) return undefined;
  const typedHeader = `data:${format.mimeType};base64,`;
  return typedHeader === header ? url : `${typedHeader}${url.slice(header.length)}`;
}

/** The bytes that a base64 `data:` URL holds. Throws an `ImageError` unless all of it is base64: engines are strict about it. */
export const decodeInlineImage = (url: string): Buffer => Buffer.from(lookAtInlineImage(url));

/** The same, in memory that the next call writes over: for who keeps none of it. */
export function lookAtInlineImage(url: string): Buffer {
  const header = findDataHeader(url);
  const bytes = header === undefined ? undefined : lookAtBase64(url.slice(header.length));
  if (!bytes) throw new ImageError('not_an_image');
  return bytes;
}

/**
 * Buffer for images that are decoded only to be checked, as large as the largest so far. Fresh buffers of some
 * megabytes for each image would make the garbage collector stop the process at every second image.
 */
let scratch = Buffer.allocUnsafeSlow(16_384);

/**
 * Decodes a text that is base64 with padding and nothing else, into memory that the next call overwrites. Returns
 * undefined for any other text.
 */
export function lookAtBase64(text: string): Buffer | undefined {
  if (scratch.length < text.length) scratch = Buffer.allocUnsafeSlow(text.length);
  const bytes = scratch.subarray(0, scratch.write(text, 'base64'));
  // The decoder leaves out what it does not know, so its result is then shorter; but it knows the letters of URLs as well.
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const isWhole = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding;
  return isWhole && !text.includes('-') && !text.includes('_') ? bytes : undefined;
}
