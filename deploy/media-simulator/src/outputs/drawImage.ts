import sharp from 'sharp';
import { drawMark, FIELDS, markOf } from './marks.ts';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

/** An image of exactly this size whose pattern is the mark of `key`: small, and another for every key. */
export function drawImage(key: string, width: number, height: number, format: ImageFormat): Promise<Buffer> {
  const pattern = sharp(drawMark(markOf(key)), { raw: { width: FIELDS, height: FIELDS, channels: 3 } });
  return pattern.resize(width, height, { fit: 'fill', kernel: 'nearest' }).toFormat(format).toBuffer();
}
