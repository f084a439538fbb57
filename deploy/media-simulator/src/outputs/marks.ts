import { createHash } from 'node:crypto';
import sharp from 'sharp';

export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

/** Stands before the mark of a clip, within its first picture: 16 bytes, by which decoders tell what they have no use for. */
export const CLIP_MARK_NAME = 'turnpike-render:';
/** The mark of a clip that has none yet. */
export const NO_MARK = '0'.repeat(16);
/** An image has so many fields each way: each is one bit of its mark. */
const FIELDS = 8;
const ALL_BRIGHT = 2n ** BigInt(FIELDS * FIELDS) - 1n;
const BYTES_A_FIELD = 3;
const BRIGHT = 192;
const COLORS = 64;

/** The mark of one render, unique among all renders: 64 bits as hexadecimal digits. */
export const markOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, NO_MARK.length);

/** The pixels of an image of eight by eight whose bright and dark fields are a mark, in colors of their own. */
function drawMark(mark: string): Buffer {
  const bits = BigInt(`0x${mark}`);
  const bytes = FIELDS * FIELDS * BYTES_A_FIELD;
  const colors = createHash('shake256', { outputLength: bytes }).update(mark).digest();
  return Buffer.from(
    colors.map((color, at) => (color % COLORS) + (hasBit(bits, Math.floor(at / BYTES_A_FIELD)) ? BRIGHT : 0)),
  );
}

/** An image of exactly this size whose pattern is the mark of `key`: small, and another for every key. */
export function drawImage(key: string, width: number, height: number, format: ImageFormat): Promise<Buffer> {
  const pattern = sharp(drawMark(markOf(key)), { raw: { width: FIELDS, height: FIELDS, channels: 3 } });
  return pattern.resize(width, height, { fit: 'fill', kernel: 'nearest' }).toFormat(format).toBuffer();
}

const hasBit = (bits: bigint, at: number): boolean => ((bits >> BigInt(at)) & 1n) === 1n;

/**
 * The mark of an MP4 or an image, also after it was written anew: in another container, or with some loss. Undefined where there is
 * none, as in an image of one shade.
 */
export async function readMark(bytes: Buffer): Promise<string | undefined> {
  const at = bytes.indexOf(CLIP_MARK_NAME, 0, 'latin1');
  if (at !== -1) {
    const from = at + CLIP_MARK_NAME.length;
    return bytes.toString('latin1', from, from + NO_MARK.length);
  }
  try {
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const middle = (field: number, length: number): number => Math.floor(((field + 0.5) * length) / FIELDS);
    let bits = 0n;
    for (let field = 0; field < FIELDS * FIELDS; field += 1) {
      const pixel = middle(Math.floor(field / FIELDS), info.height) * info.width + middle(field % FIELDS, info.width);
      // Green, which says most of how bright it is.
      const isBright = (data[pixel * info.channels + 1] ?? 0) >= (BRIGHT + COLORS) / 2;
      if (isBright) bits |= 1n << BigInt(field);
    }
    return bits === 0n || bits === ALL_BRIGHT ? undefined : bits.toString(16).padStart(NO_MARK.length, '0');
  } catch {
    return undefined; // no image, or a part of one
  }
}
