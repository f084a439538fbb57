import { type ImageFormat, type ImageSize, MAX_BESIDE_BYTES } from './imageFormat.ts';

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const LOSSY_START_CODE = 0x2a019d;
const LOSSLESS_SIGNATURE = 0x2f;

/** WebP: a RIFF file of chunks; the first one says the size, and the canvas of an extended file bounds all its frames. */
export const webp: ImageFormat = {
  mimeType: 'image/webp',
  matches: (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  measure(bytes) {
    if (bytes.length < RIFF_HEADER_BYTES || bytes.readUInt32LE(4) + CHUNK_HEADER_BYTES !== bytes.length)
      return undefined;
    const size: ImageSize = { width: 0, height: 0 };
    let hasPicture = false;
    let beside = 0;
    let position = RIFF_HEADER_BYTES;
    while (position + CHUNK_HEADER_BYTES <= bytes.length) {
      const type = bytes.toString('latin1', position, position + 4);
      const length = bytes.readUInt32LE(position + 4);
      const start = position + CHUNK_HEADER_BYTES;
      // Chunks are padded to an even length.
      position = start + length + (length % 2);
      if (position > bytes.length) return undefined;
      const measure = MEASURES[type];
      const isFirst = start === RIFF_HEADER_BYTES + CHUNK_HEADER_BYTES;
      if (isFirst && !BEGINNINGS.has(type)) return undefined;
      if (!measure && !PICTURE.has(type)) beside += length;
      if (!measure) continue;
      const found = measure(bytes.subarray(start, start + length));
      if (!found) return undefined;
      if (type !== 'VP8X') hasPicture = true;
      size.width = Math.max(size.width, found.width);
      size.height = Math.max(size.height, found.height);
    }
    return hasPicture && beside <= MAX_BESIDE_BYTES && position === bytes.length ? size : undefined;
  },
};

/** Parts of a picture that say no size. */
const PICTURE = new Set(['ALPH', 'ANIM']);
const BEGINNINGS = new Set(['VP8 ', 'VP8L', 'VP8X']);

/** The chunks that say a size. */
const MEASURES: Record<string, (data: Buffer) => ImageSize | undefined> = {
  'VP8 ': (data) =>
    data.length >= 10 && data.readUIntLE(3, 3) === LOSSY_START_CODE
      ? { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff }
      : undefined,
  VP8L(data) {
    if (data.length < 5 || data[0] !== LOSSLESS_SIGNATURE) return undefined;
    const bits = data.readUInt32LE(1);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  },
  VP8X: (data) =>
    data.length >= 10 ? { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 } : undefined,
  // Offset of a frame in steps of two pixels, and its size.
  ANMF: (data) =>
    data.length >= 16
      ? {
          width: 2 * data.readUIntLE(0, 3) + data.readUIntLE(6, 3) + 1,
          height: 2 * data.readUIntLE(3, 3) + data.readUIntLE(9, 3) + 1,
        }
      : undefined,
};
