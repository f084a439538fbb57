import { ImageError } from './imageError.ts';

/** What a `data:` URL of an image has to look like. `image/jpg` is no media type, but what many clients write for a JPEG. */
export const INLINE_IMAGE_PATTERN = /^data:image\/(?:png|jpe?g|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Whether an image address holds the image itself; every other one has to be fetched. */
export const isInline = (url: string): boolean => url.startsWith('data:');

/** The bytes that a URL of `INLINE_IMAGE_PATTERN` holds. Throws an `ImageError` if its base64 is cut off: engines are strict about it. */
export function decodeInlineImage(url: string): Buffer {
  const start = url.indexOf(',') + 1;
  if ((url.length - start) % 4 !== 0) throw new ImageError('not_an_image');
  return Buffer.from(url.slice(start), 'base64');
}
