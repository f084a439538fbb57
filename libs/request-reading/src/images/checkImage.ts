import { gif } from './formats/gif.ts';
import type { ImageFormat } from './formats/imageFormat.ts';
import { jpeg } from './formats/jpeg.ts';
import { png } from './formats/png.ts';
import { webp } from './formats/webp.ts';
import { ImageError } from './imageError.ts';

const FORMATS: ImageFormat[] = [png, jpeg, webp, gif];
const MAX_PIXELS = 50_000_000;

/** The format that an image's first bytes are of. Undefined for anything but a PNG, JPEG, WebP or GIF. */
export const findFormat = (bytes: Buffer): ImageFormat | undefined => FORMATS.find(({ matches }) => matches(bytes));

/**
 * Returns the media type of a PNG, JPEG, WebP or GIF by its bytes. Throws an `ImageError` for any other file, for an
 * incomplete one, and for an image of more than 50 megapixels. A few bytes can announce an image that no engine could
 * hold.
 */
export function checkImage(bytes: Buffer): ImageFormat['mimeType'] {
  const format = findFormat(bytes);
  const size = format?.measure(bytes);
  if (!format || !size || size.width === 0 || size.height === 0) throw new ImageError('not_an_image');
  if (size.width * size.height > MAX_PIXELS) throw new ImageError('too_many_pixels');
  return format.mimeType;
}
