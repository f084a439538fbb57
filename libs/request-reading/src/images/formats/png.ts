import { crc32 } from 'node:zlib';
import type { ImageFormat } from './imageFormat.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HEADER_LENGTH = 13;
const LENGTH_BYTES = 4;
const TYPE_BYTES = 4;
const CRC_BYTES = 4;

/** PNG: chunks of a length, a type, data and a checksum, from IHDR to IEND. */
export const png: ImageFormat = {
  mimeType: 'image/png',
  matches: (bytes) => bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE),
  measure(bytes) {
    const size = measureHeader(bytes);
    let position = SIGNATURE.length;
    let hasData = false;
    while (size && position + LENGTH_BYTES + TYPE_BYTES + CRC_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(position);
      const type = bytes.toString('latin1', position + LENGTH_BYTES, position + LENGTH_BYTES + TYPE_BYTES);
      const isFirst = position === SIGNATURE.length;
      if ((type === 'IHDR') !== isFirst) return undefined;
      if (type === 'IDAT') hasData = true;
      position += LENGTH_BYTES + TYPE_BYTES + length + CRC_BYTES;
      if (type === 'IEND') return hasData && position === bytes.length ? size : undefined;
    }
    return undefined;
  },
};

function measureHeader(bytes: Buffer) {
  const start = SIGNATURE.length + LENGTH_BYTES;
  const end = start + TYPE_BYTES + HEADER_LENGTH;
  if (bytes.length < end + CRC_BYTES || bytes.readUInt32BE(SIGNATURE.length) !== HEADER_LENGTH) return undefined;
  if (crc32(bytes.subarray(start, end)) !== bytes.readUInt32BE(end)) return undefined;
  const dimensions = start + TYPE_BYTES;
  return { width: bytes.readUInt32BE(dimensions), height: bytes.readUInt32BE(dimensions + 4) };
}
