import { crc32, deflateSync } from 'node:zlib';

/** The fields of a test's image; one pixel unless they say otherwise. */
export interface ImageFields {
  width?: number;
  height?: number;
  /** A remark within the file, where programs leave theirs. */
  comment?: string;
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const uint16 = (value: number): Buffer => uint32(value).subarray(2);
const uint16LE = (value: number): Buffer => Buffer.from(uint16(value)).reverse();

/** A PNG chunk: length, type, data, checksum. */
export function aPngChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([uint32(data.length), content, uint32(crc32(content))]);
}

/** A PNG of these dimensions; its data is that of one pixel. */
export function aPng({ width = 1, height = 1, comment = '' }: ImageFields = {}): Buffer {
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    aPngChunk('IHDR', Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 0, 0, 0, 0])])),
    aPngChunk('tEXt', Buffer.from(`Comment\0${comment}`)),
    aPngChunk('IDAT', deflateSync(Buffer.from([0, 0]))),
    aPngChunk('IEND', Buffer.alloc(0)),
  ]);
}

const aSegment = (marker: number, data: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0xff, marker]), uint16(data.length + 2), data]);

/** A JPEG of these dimensions, with a restart and an escaped byte in its scan. */
export function aJpeg({ width = 1, height = 1, comment = '' }: ImageFields = {}): Buffer {
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    aSegment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    aSegment(0xfe, Buffer.from(comment)),
    aSegment(0xdb, Buffer.alloc(65, 1)),
    aSegment(0xc0, Buffer.concat([Buffer.from([8]), uint16(height), uint16(width), Buffer.from([1, 1, 0x11, 0])])),
    aSegment(0xc4, Buffer.from([0, ...new Array<number>(16).fill(0)])),
    aSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from([0x12, 0xff, 0x00, 0x34, 0xff, 0xd0, 0x56, 0xff, 0xd9]),
  ]);
}

/** A GIF with one frame, as large as its screen unless `frame` says otherwise. */
export function aGif({
  width = 1,
  height = 1,
  comment = '',
  frame = { width, height },
}: ImageFields & { frame?: { width: number; height: number } } = {}): Buffer {
  const text = Buffer.from(comment).subarray(0, 255);
  return Buffer.concat([
    Buffer.from('GIF89a'),
    uint16LE(width),
    uint16LE(height),
    Buffer.from([0x80, 0, 0, 0, 0, 0, 255, 255, 255]),
    Buffer.from(text.length === 0 ? [0x21, 0xfe, 0] : [0x21, 0xfe, text.length, ...text, 0]),
    Buffer.from([0x2c, 0, 0, 0, 0]),
    uint16LE(frame.width),
    uint16LE(frame.height),
    Buffer.from([0, 2, 2, 0x44, 0x01, 0, 0x3b]),
  ]);
}

/** A RIFF file of chunks, each padded to an even length. */
export function aRiff(...chunks: [type: string, data: Buffer][]): Buffer {
  const bodies = chunks.map(([type, data]) =>
    Buffer.concat([Buffer.from(type, 'latin1'), uint32(data.length).reverse(), data, Buffer.alloc(data.length % 2)]),
  );
  const content = Buffer.concat([Buffer.from('WEBP'), ...bodies]);
  return Buffer.concat([Buffer.from('RIFF'), uint32(content.length).reverse(), content]);
}

const aWebpPixel = Buffer.from([0x2f, 0, 0, 0, 0]);

/** A WebP file of these dimensions, of one of its three kinds. */
export function aWebp({
  width = 1,
  height = 1,
  comment = '',
  kind = 'lossless',
}: ImageFields & { kind?: 'lossy' | 'lossless' | 'extended' } = {}): Buffer {
  const lossy = Buffer.concat([
    Buffer.from([0x10, 0, 0, 0x9d, 0x01, 0x2a]),
    uint16LE(width & 0x3fff),
    uint16LE(height & 0x3fff),
    Buffer.from([0]),
  ]);
  const lossless = Buffer.concat([Buffer.from([0x2f]), uint32((height - 1) * 2 ** 14 + (width - 1)).reverse()]);
  if (kind === 'lossy') return aRiff(['VP8 ', lossy]);
  if (kind === 'lossless') return aRiff(['VP8L', lossless], ['XMP ', Buffer.from(comment)]);
  const canvas = Buffer.concat([
    Buffer.from([0x10, 0, 0, 0]),
    uint32(width - 1)
      .reverse()
      .subarray(0, 3),
    uint32(height - 1)
      .reverse()
      .subarray(0, 3),
  ]);
  return aRiff(['VP8X', canvas], ['VP8L', aWebpPixel], ['XMP ', Buffer.from(comment)]);
}
