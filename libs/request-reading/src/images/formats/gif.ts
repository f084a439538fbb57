import { type ImageFormat, type ImageSize, MAX_BESIDE_BYTES } from './imageFormat.ts';

const SIGNATURE_PATTERN = /^GIF8[79]a$/;
const SCREEN_END = 13;
const EXTENSION = 0x21;
const FRAME = 0x2c;
const TRAILER = 0x3b;
const FRAME_BYTES = 10;
const HAS_COLORS = 0x80;
/** Most frames of a file, because an engine may decode each frame and a frame takes a dozen bytes. */
const MAX_FRAMES = 1_000;

/** GIF: a screen, then extensions and frames in blocks of at most 255 bytes, then a trailer. */
export const gif: ImageFormat = {
  mimeType: 'image/gif',
  matches: (bytes) => SIGNATURE_PATTERN.test(bytes.toString('latin1', 0, 6)),
  measure(bytes) {
    if (bytes.length < SCREEN_END) return undefined;
    // A decoder makes room for frames that reach beyond the screen.
    const size: ImageSize = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
    let frames = 0;
    let beside = 0;
    let position = SCREEN_END + colorBytes(bytes[10]);
    while (position < bytes.length) {
      switch (bytes[position]) {
        case TRAILER:
          return frames > 0 && beside <= MAX_BESIDE_BYTES && position + 1 === bytes.length ? size : undefined;
        case EXTENSION: {
          const start = position;
          position = skipBlocks(bytes, start + 2);
          beside += position - start;
          break;
        }
        case FRAME: {
          if (position + FRAME_BYTES > bytes.length) return undefined;
          size.width = Math.max(size.width, bytes.readUInt16LE(position + 1) + bytes.readUInt16LE(position + 5));
          size.height = Math.max(size.height, bytes.readUInt16LE(position + 3) + bytes.readUInt16LE(position + 7));
          frames += 1;
          if (frames > MAX_FRAMES) return undefined;
          // One byte before the blocks says how their codes begin.
          position = skipBlocks(bytes, position + FRAME_BYTES + colorBytes(bytes[position + 9]) + 1);
          break;
        }
        default:
          return undefined;
      }
    }
    return undefined;
  },
};

/** Bytes of the colour table that these flags announce. */
const colorBytes = (flags = 0): number => ((flags & HAS_COLORS) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** One past the empty block that ends a row of blocks; past the end of the file if there is none. */
function skipBlocks(bytes: Buffer, start: number): number {
  let position = start;
  for (;;) {
    const length = bytes[position] ?? 0;
    if (position >= bytes.length) return bytes.length + 1;
    position += 1 + length;
    if (length === 0) return position;
  }
}
