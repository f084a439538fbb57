import { crc32 } from 'node:zlib';
import { type ImageFormat, type ImageSize, MAX_BESIDE_BYTES } from './imageFormat.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HEADER_LENGTH = 13;
const LENGTH_BYTES = 4;
const TYPE_BYTES = 4;
const CRC_BYTES = 4;
const PICTURE = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND']);
/** Texts and profiles that are deflated grow a thousandfold in a decoder. */
const MAX_DEFLATED_BYTES = 65_536;
/** Most data of a pixel of four channels, and of a row beside its pixels. */
const MOST_PIXEL_BYTES = 8;
const MOST_ROW_BYTES = 16;
const SLACK_BYTES = 65_536;

/** PNG: chunks of a length, a type, data and a checksum, from IHDR to IEND. */
export const png: ImageFormat = {
  mimeType: 'image/png',
  matches: (bytes) => bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE),
  measure(bytes) {
    const size = measureHeader(bytes);
    let position = SIGNATURE.length;
    let [beside, deflated, data] = [0, 0, 0];
    while (size && position + LENGTH_BYTES + TYPE_BYTES + CRC_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(position);
      const type = bytes.toString('latin1', position + LENGTH_BYTES, position + LENGTH_BYTES + TYPE_BYTES);
      const isFirst = position === SIGNATURE.length;
      if ((type === 'IHDR') !== isFirst) return undefined;
      if (type === 'IDAT') data += length;
      if (!PICTURE.has(type)) {
        const start = position + LENGTH_BYTES + TYPE_BYTES;
        beside += length;
        if (isDeflated(type, bytes.subarray(start, start + length))) deflated += length;
      }
      position += LENGTH_BYTES + TYPE_BYTES + length + CRC_BYTES;
      if (type !== 'IEND') continue;
      const isPicture = data > 0 && data <= mostDataBytes(size);
      const isBounded = beside <= MAX_BESIDE_BYTES && deflated <= MAX_DEFLATED_BYTES;
      return isPicture && isBounded && position === bytes.length ? size : undefined;
    }
    return undefined;
  },
};

/** Returns the most data that a picture of this size has, deflated as badly as can be. */
const mostDataBytes = ({ width, height }: ImageSize): number =>
  width * height * MOST_PIXEL_BYTES + height * MOST_ROW_BYTES + SLACK_BYTES;

/** Whether a chunk beside the picture is deflated: international text says so behind its keyword. */
function isDeflated(type: string, data: Buffer): boolean {
  if (type === 'iTXt') return data[data.indexOf(0) + 1] === 1;
  return type === 'zTXt' || type === 'iCCP';
}

function measureHeader(bytes: Buffer) {
  const start = SIGNATURE.length + LENGTH_BYTES;
  const end = start + TYPE_BYTES + HEADER_LENGTH;
  if (bytes.length < end + CRC_BYTES || bytes.readUInt32BE(SIGNATURE.length) !== HEADER_LENGTH) return undefined;
  if (crc32(bytes.subarray(start, end)) !== bytes.readUInt32BE(end)) return undefined;
  const dimensions = start + TYPE_BYTES;
  return { width: bytes.readUInt32BE(dimensions), height: bytes.readUInt32BE(dimensions + 4) };
}
