import { type ImageFormat, type ImageSize, MAX_BESIDE_BYTES } from './imageFormat.ts';

const MARKER = 0xff;
const START_OF_IMAGE = 0xd8;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;
/** Frame headers are 0xc0 to 0xcf but for three that define tables. */
const FRAME_MARKERS = { first: 0xc0, last: 0xcf, others: new Set([0xc4, 0xc8, 0xcc]) };

/** JPEG: segments that begin with a marker and a length; after the header of a scan its data runs to the next marker. */
export const jpeg: ImageFormat = {
  mimeType: 'image/jpeg',
  matches: (bytes) => bytes[0] === MARKER && bytes[1] === START_OF_IMAGE && bytes[2] === MARKER,
  measure(bytes) {
    let size: ImageSize | undefined;
    let hasScan = false;
    let beside = 0;
    let position = 2;
    for (;;) {
      position = skipFill(bytes, position);
      const marker = bytes[position];
      if (marker === undefined) return undefined;
      position += 1;
      if (marker === END_OF_IMAGE) {
        const rest = bytes.subarray(position);
        return hasScan && beside + rest.length <= MAX_BESIDE_BYTES && isPhoneTrailer(rest) ? size : undefined;
      }
      if (isAlone(marker)) continue;
      if (position + 2 > bytes.length) return undefined;
      const length = bytes.readUInt16BE(position);
      if (length < 2 || position + length > bytes.length) return undefined;
      if (isBeside(marker)) beside += length;
      if (isFrame(marker)) {
        if (size || length < 8) return undefined;
        size = { width: bytes.readUInt16BE(position + 5), height: bytes.readUInt16BE(position + 3) };
      }
      position += length;
      if (marker === START_OF_SCAN) {
        if (!size) return undefined;
        hasScan = true;
        position = endOfScan(bytes, position);
      }
    }
  },
};

const isFrame = (marker: number): boolean =>
  marker >= FRAME_MARKERS.first && marker <= FRAME_MARKERS.last && !FRAME_MARKERS.others.has(marker);

/** Segments of applications (profiles, notes, previews) and comments. */
const isBeside = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;

/** Restart markers and one for private use stand for themselves: no length follows. */
const isAlone = (marker: number): boolean => (marker >= 0xd0 && marker <= 0xd7) || marker === 0x01;

/** The place of a marker's second byte; past the end of the file if no marker stands here. */
function skipFill(bytes: Buffer, start: number): number {
  if (bytes[start] !== MARKER) return bytes.length;
  let position = start;
  while (bytes[position] === MARKER) position += 1;
  return position;
}

/** The first marker within a scan's data that is not of the data itself: escaped bytes and restarts are. */
function endOfScan(bytes: Buffer, start: number): number {
  let position = start;
  for (;;) {
    position = bytes.indexOf(MARKER, position);
    if (position === -1) return bytes.length;
    const next = bytes[position + 1] ?? 0;
    if (next !== 0 && !isAlone(next)) return position;
    position += 2;
  }
}

/** Phones put a preview, a film or notes of their own behind a photograph, and cameras padding. Nothing else may follow. */
function isPhoneTrailer(rest: Buffer): boolean {
  const hasPreview = rest[0] === MARKER && rest[1] === START_OF_IMAGE;
  const hasFilm = rest.toString('latin1', 4, 8) === 'ftyp';
  const hasNotes = rest.toString('latin1', rest.length - 4) === 'SEFT';
  return hasPreview || hasFilm || hasNotes || rest.every((byte) => byte === 0 || byte === MARKER);
}
