import { ImageError } from './imageError.ts';

/** Whether an image address holds the image itself; every other one has to be fetched. */
export const isInline = (url: string): boolean => url.startsWith('data:');

/** The bytes that a base64 `data:` URL holds. Throws an `ImageError` unless all of it is base64: engines are strict about it. */
export function decodeInlineImage(url: string): Buffer {
  const bytes = decodeBase64(url.slice(url.indexOf(',') + 1));
  if (!bytes) throw new ImageError('not_an_image');
  return bytes;
}

/** What a text stands for that is base64 and nothing else, with its padding; undefined for every other one. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  // The decoder leaves out what it does not know, so its result is then shorter; but it knows the letters of URLs as well.
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const isWhole = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding;
  return isWhole && !text.includes('-') && !text.includes('_') ? bytes : undefined;
}
