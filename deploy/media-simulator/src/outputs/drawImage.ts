import { createHash } from 'node:crypto';
import sharp from 'sharp';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

const PATTERN_SIZE = 8;

/** An image of exactly this size whose pattern is that of `key`: small, and another for every key. */
export function drawImage(key: string, width: number, height: number, format: ImageFormat): Promise<Buffer> {
  const bytes = PATTERN_SIZE * PATTERN_SIZE * 3;
  const pixels = createHash('shake256', { outputLength: bytes }).update(key).digest();
  const pattern = sharp(pixels, { raw: { width: PATTERN_SIZE, height: PATTERN_SIZE, channels: 3 } });
  return pattern.resize(width, height, { fit: 'fill', kernel: 'nearest' }).toFormat(format).toBuffer();
}
