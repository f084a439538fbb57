import { ImageError } from './imageError.ts';

/** Whether an image address holds the image itself; every other one has to be fetched. */
export const isInline = (url: string): boolean => url.startsWith('data:');

/** The bytes that a base64 `data:` URL holds. Throws an `ImageError` unless all of it is base64: engines are strict about it. */
export function decodeInlineImage(url: string): Buffer {
  const data = url.slice(url.indexOf(',') + 1);
  const bytes = Buffer.from(data, 'base64');
  // The decoder leaves out what it does not know, so its result is then shorter; but it knows the letters of URLs as well.
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='));
  const isWhole = data.length % 4 === 0 && bytes.length === (data.length / 4) * 3 - padding;
  if (!isWhole || data.includes('-') || data.includes('_')) throw new ImageError('not_an_image');
  return bytes;
}
