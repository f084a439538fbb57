import { ImageError } from './imageError.ts';

/** Whether an image address holds the image itself; every other one has to be fetched. */
export const isInline = (url: string): boolean => url.startsWith('data:');

/** The bytes that a base64 `data:` URL holds. Throws an `ImageError` unless all of it is base64: engines are strict about it. */
export const decodeInlineImage = (url: string): Buffer => Buffer.from(lookAtInlineImage(url));

/** The same, in memory that the next call writes over: for who keeps none of it. */
export function lookAtInlineImage(url: string): Buffer {
  const bytes = lookAtBase64(url.slice(url.indexOf(',') + 1));
  if (!bytes) throw new ImageError('not_an_image');
  return bytes;
}

/**
 * What is only looked at is decoded into these bytes, as large as the largest of it so far: the collector is driven by what is
 * allocated, and some megabytes for each image have it stop the process at every second one.
 */
let scratch = Buffer.allocUnsafeSlow(16_384);

/**
 * What a text stands for that is base64 and nothing else, with its padding, in memory that the next call writes over; undefined
 * for every other one.
 */
export function lookAtBase64(text: string): Buffer | undefined {
  if (scratch.length < text.length) scratch = Buffer.allocUnsafeSlow(text.length);
  const bytes = scratch.subarray(0, scratch.write(text, 'base64'));
  // The decoder leaves out what it does not know, so its result is then shorter; but it knows the letters of URLs as well.
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const isWhole = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding;
  return isWhole && !text.includes('-') && !text.includes('_') ? bytes : undefined;
}
