import { describe, expect, it } from '@jest/globals';
import { aGif, aJpeg, aPng, aPngChunk, aRiff, aWebp } from '@turnpike/test-support/anImage';
import fc from 'fast-check';
import { checkImage } from './checkImage.ts';
import { ImageError } from './imageError.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

/** The media type, or why the bytes are refused. */
function verdictOn(bytes: Buffer): string {
  try {
    return checkImage(bytes);
  } catch (error) {
    if (error instanceof ImageError) return error.reason;
    throw error;
  }
}

const MAKERS: [string, string, (fields: { width: number; height: number }) => Buffer][] = [
  ['PNG', 'image/png', aPng],
  ['JPEG', 'image/jpeg', aJpeg],
  ['GIF', 'image/gif', aGif],
  ['lossy WebP', 'image/webp', (fields) => aWebp({ ...fields, kind: 'lossy' })],
  ['lossless WebP', 'image/webp', (fields) => aWebp({ ...fields, kind: 'lossless' })],
  ['extended WebP', 'image/webp', (fields) => aWebp({ ...fields, kind: 'extended' })],
];

describe.each(MAKERS)('a %s', (_format, mimeType, make) => {
  it('is taken up to 50 megapixels, by its header', () => {
    expect(verdictOn(make({ width: 1, height: 1 }))).toBe(mimeType);
    expect(verdictOn(make({ width: 5_000, height: 10_000 }))).toBe(mimeType);
    expect(verdictOn(make({ width: 5_001, height: 10_000 }))).toBe('too_many_pixels');
    expect(verdictOn(make({ width: 5_000, height: 10_001 }))).toBe('too_many_pixels');
  });

  it('is refused cut off at any byte', () => {
    const bytes = make({ width: 3, height: 2 });
    for (let length = 0; length < bytes.length; length += 1)
      expect([length, verdictOn(bytes.subarray(0, length))]).toEqual([length, 'not_an_image']);
  });

  it.each(['<script>alert(1)</script>', 'PK\x03\x04', '%PDF-1.7\n', '<svg xmlns="http://www.w3.org/2000/svg"/>'])(
    'is refused with another file behind it: %j',
    (other) => {
      expect(verdictOn(Buffer.concat([make({ width: 3, height: 2 }), Buffer.from(other)]))).toBe('not_an_image');
    },
  );

  it('never makes the check fail in another way, whatever is changed in it', () => {
    const bytes = make({ width: 3, height: 2 });
    const aChange = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(aChange, { maxLength: 6 }), (changes) => {
        const changed = Buffer.from(bytes);
        for (const [position, byte] of changes) changed[position] = byte;
        expect([mimeType, 'not_an_image', 'too_many_pixels']).toContain(verdictOn(changed));
      }),
      { numRuns: 300 },
    );
  });
});

it.each<[string, Buffer, string]>([
  ['nothing', Buffer.alloc(0), 'not_an_image'],
  ['a text', Buffer.from('just a text'), 'not_an_image'],
  ['HTML', Buffer.from('<!doctype html><html></html>'), 'not_an_image'],
  ['SVG', Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'), 'not_an_image'],
  ['a BMP', Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]), 'not_an_image'],
  ['a TIFF', Buffer.concat([Buffer.from('II*\0'), Buffer.alloc(100)]), 'not_an_image'],
  ['a gzip file', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), 'not_an_image'],
  ['a script behind the beginning of a GIF', Buffer.from('GIF89a/*aaaa*/=alert(1)//;;;;;;;;'), 'not_an_image'],
  ['HTML behind the beginning of a JPEG', Buffer.from('\xff\xd8\xff\xe0<html></html>', 'latin1'), 'not_an_image'],
  ['a PNG of 50,000 × 50,000', aPng({ width: 50_000, height: 50_000 }), 'too_many_pixels'],
  ['a PNG of more pixels than fit 64 bits', aPng({ width: 0xffff_ffff, height: 0xffff_ffff }), 'too_many_pixels'],
  ['a PNG without height', aPng({ height: 0 }), 'not_an_image'],
  ['a JPEG that leaves its height open', aJpeg({ height: 0 }), 'not_an_image'],
  ['a PNG with two headers', withSecondHeader(), 'not_an_image'],
  ['a PNG whose header has a wrong checksum', withByte(aPng(), 20, 7), 'not_an_image'],
  ['a JPEG with two frame headers', withSecondFrame(), 'not_an_image'],
  [
    'a GIF whose frame is larger than its screen',
    aGif({ frame: { width: 50_000, height: 50_000 } }),
    'too_many_pixels',
  ],
  ['a WebP whose frame is larger than its canvas', withLargeFrame(), 'too_many_pixels'],
  ['a RIFF file of sound', Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1'), 'not_an_image'],
])('%s is refused', (_case, bytes, reason) => {
  expect(verdictOn(bytes)).toBe(reason);
});

it.each<[string, Buffer]>([
  ['a preview', aJpeg()],
  ['a film', Buffer.from('\0\0\0\x18ftypmp42 and the film', 'latin1')],
  ['notes', Buffer.from('\0\0\x01\x0aMotionPhoto_Data SEFT', 'latin1')],
  ['padding', Buffer.alloc(512)],
])('a photograph is taken with %s behind it, as phones and cameras put there', (_case, rest) => {
  expect(verdictOn(Buffer.concat([aJpeg(), rest]))).toBe('image/jpeg');
});

const MIB = 1_048_576;
/** A file with something behind its beginning, which is not the picture. */
const besides: [string, string, (bytes: number) => Buffer][] = [
  ['a PNG with a text', 'image/png', (bytes) => withPngChunk('tEXt', Buffer.alloc(bytes, 'a'))],
  ['a PNG with a chunk of its own', 'image/png', (bytes) => withPngChunk('abCd', Buffer.alloc(bytes))],
  ['a JPEG with segments of applications', 'image/jpeg', (bytes) => withJpegSegments(0xe1, bytes)],
  ['a JPEG with comments', 'image/jpeg', (bytes) => withJpegSegments(0xfe, bytes)],
  [
    'a JPEG with a film behind it',
    'image/jpeg',
    (bytes) => Buffer.concat([aJpeg(), Buffer.from('\0\0\0\x18ftyp'), Buffer.alloc(bytes - 8)]),
  ],
  ['a WebP with notes', 'image/webp', (bytes) => withWebpChunk('EXIF', bytes)],
  ['a WebP with a profile', 'image/webp', (bytes) => withWebpChunk('ICCP', bytes)],
  ['a GIF with comments', 'image/gif', withGifComments],
];
it.each(besides)('%s is taken where that is small, and refused above 8 MiB', (_case, mimeType, make) => {
  expect(verdictOn(make(7 * MIB))).toBe(mimeType);
  expect(verdictOn(make(9 * MIB))).toBe('not_an_image');
});

it('a GIF has 1,000 frames at most', () => {
  expect(verdictOn(withGifFrames(1_000))).toBe('image/gif');
  expect(verdictOn(withGifFrames(1_001))).toBe('not_an_image');
});

it.each<[string, (bytes: number) => Buffer]>([
  ['a deflated text', (bytes) => withPngChunk('zTXt', Buffer.alloc(bytes))],
  ['a deflated profile', (bytes) => withPngChunk('iCCP', Buffer.alloc(bytes))],
  [
    'a deflated international text',
    (bytes) => withPngChunk('iTXt', Buffer.concat([Buffer.from('a\0\x01'), Buffer.alloc(bytes - 3)])),
  ],
])('a PNG with %s is taken up to 64 KiB of it', (_case, make) => {
  expect(verdictOn(make(64 * 1_024))).toBe('image/png');
  expect(verdictOn(make(64 * 1_024 + 1))).toBe('not_an_image');
});

it('a PNG with more data than its pixels can have is refused', () => {
  const surplus = (bytes: number) => withPngChunk('IDAT', Buffer.alloc(bytes));
  expect(verdictOn(surplus(60_000))).toBe('image/png');
  expect(verdictOn(surplus(300_000))).toBe('not_an_image');
});

function withPngChunk(type: string, data: Buffer): Buffer {
  const bytes = aPng();
  const endOfHeader = 8 + 12 + 13;
  return Buffer.concat([bytes.subarray(0, endOfHeader), aPngChunk(type, data), bytes.subarray(endOfHeader)]);
}

function withJpegSegments(marker: number, bytes: number): Buffer {
  const segment = Buffer.concat([Buffer.from([0xff, marker, 0xff, 0xff]), Buffer.alloc(0xffff - 2)]);
  const segments = Array.from({ length: Math.ceil(bytes / segment.length) }, () => segment);
  return Buffer.concat([aJpeg().subarray(0, 2), ...segments, aJpeg().subarray(2)]);
}

function withWebpChunk(type: string, bytes: number): Buffer {
  const picture = aWebp({ width: 3, height: 2, kind: 'lossy' });
  return aRiff(
    ['VP8X', Buffer.from([0, 0, 0, 0, 2, 0, 0, 1, 0, 0])],
    ['VP8 ', picture.subarray(20, 20 + picture.readUInt32LE(16))],
    [type, Buffer.alloc(bytes)],
  );
}

function withGifFrames(count: number): Buffer {
  const gif = aGif();
  const at = gif.indexOf(0x2c, 22);
  const frames = Array.from({ length: count }, () => gif.subarray(at, -1));
  return Buffer.concat([gif.subarray(0, at), ...frames, gif.subarray(-1)]);
}

function withGifComments(bytes: number): Buffer {
  const gif = aGif();
  const block = Buffer.concat([Buffer.from([255]), Buffer.alloc(255, 'a')]);
  const blocks = Array.from({ length: Math.ceil(bytes / block.length) }, () => block);
  const comment = Buffer.concat([Buffer.from([0x21, 0xfe]), ...blocks, Buffer.from([0])]);
  return Buffer.concat([gif.subarray(0, -1), comment, gif.subarray(-1)]);
}

function withByte(bytes: Buffer, position: number, byte: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[position] = byte;
  return changed;
}

function withSecondHeader(): Buffer {
  const bytes = aPng();
  const endOfHeader = 8 + 12 + 13;
  const header = aPngChunk('IHDR', bytes.subarray(16, 29));
  return Buffer.concat([bytes.subarray(0, endOfHeader), header, bytes.subarray(endOfHeader)]);
}

function withSecondFrame(): Buffer {
  const bytes = aJpeg();
  const start = bytes.indexOf(Buffer.from([0xff, 0xc0]));
  const frame = bytes.subarray(start, start + 2 + 11);
  return Buffer.concat([bytes.subarray(0, start), frame, bytes.subarray(start)]);
}

function withLargeFrame(): Buffer {
  const canvas = Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.alloc(6)]);
  const frame = Buffer.concat([Buffer.alloc(6), Buffer.alloc(6, 0xff), Buffer.alloc(4)]);
  return aRiff(['VP8X', canvas], ['ANMF', frame]);
}
