/** A cyclic redundancy check of so many bits, as FLAC has two of. */
function crc(bytes: Buffer, bits: 8 | 16, polynomial: number): number {
  const top = 1 << (bits - 1);
  const mask = 2 ** bits - 1;
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & top ? (sum << 1) ^ polynomial : sum << 1) & mask;
  }
  return sum;
}

/** A number as FLAC writes that of a frame: UTF-8. */
const toUtf8 = (value: number): Buffer => Buffer.from(String.fromCodePoint(value), 'utf8');

const FRAME_SAMPLES = 65_535;

export interface FlacShape {
  channels: number;
  rate: number;
  frames: number;
  /** Whether each frame has the number of its place, so that time passes; else each is the first. */
  isNumbered?: boolean;
}

/** A FLAC of frames that say 'all samples are 0' in some 40 bytes: 65,535 samples of each channel. */
export function aFlacBomb({ channels, rate, frames, isNumbered = true }: FlacShape): Buffer {
  const info = Buffer.alloc(38);
  info[0] = 0x80;
  info.writeUIntBE(34, 1, 3);
  info.writeUInt16BE(FRAME_SAMPLES, 4);
  info.writeUInt16BE(FRAME_SAMPLES, 6);
  info.writeBigUInt64BE((BigInt(rate) << 44n) | (BigInt(channels - 1) << 41n) | (15n << 36n), 14);
  const toFrame = (nth: number): Buffer => {
    const sizes = Buffer.alloc(4);
    sizes.writeUInt16BE(FRAME_SAMPLES - 1);
    // Above 65,535 Hz the frame leaves the rate to the header.
    const rateCode = rate === 655_350 ? 0xe : 0x0;
    sizes.writeUInt16BE(65_535, 2);
    const head = Buffer.concat([
      Buffer.from([0xff, 0xf8, 0x70 | rateCode, ((channels - 1) << 4) | 8]),
      toUtf8(nth),
      sizes.subarray(0, rateCode === 0 ? 2 : 4),
    ]);
    const body = Buffer.concat([head, Buffer.from([crc(head, 8, 0x07)]), Buffer.alloc(3 * channels)]);
    const foot = Buffer.alloc(2);
    foot.writeUInt16BE(crc(body, 16, 0x8005));
    return Buffer.concat([body, foot]);
  };
  const first = toFrame(0);
  const parts = Array.from({ length: frames }, (_, nth) => (isNumbered ? toFrame(nth) : first));
  return Buffer.concat([Buffer.from('fLaC'), info, ...parts]);
}

interface Box {
  at: number;
  size: number;
}

function findBox(file: Buffer, name: string, { from, to }: { from: number; to: number }): Box {
  for (let at = from; at < to; ) {
    const size = file.readUInt32BE(at);
    if (file.toString('latin1', at + 4, at + 8) === name) return { at, size };
    at += size;
  }
  throw new Error(`the file has no ${name}`);
}

/** An MP4 whose edit list plays its one track so many times; its index has to be behind its sound. */
export function withEdits(mp4: Buffer, { edits, playedMs }: { edits: number; playedMs: number }): Buffer {
  const moov = findBox(mp4, 'moov', { from: 0, to: mp4.length });
  const trak = findBox(mp4, 'trak', { from: moov.at + 8, to: moov.at + moov.size });
  const inTrak = { from: trak.at + 8, to: trak.at + trak.size };
  const edts = findBox(mp4, 'edts', inTrak);
  const list = Buffer.alloc(24 + 12 * edits);
  list.writeUInt32BE(list.length, 0);
  list.write('edts', 4, 'latin1');
  list.writeUInt32BE(list.length - 8, 8);
  list.write('elst', 12, 'latin1');
  list.writeUInt32BE(edits, 20);
  for (let nth = 0; nth < edits; nth += 1) {
    list.writeUInt32BE(playedMs, 24 + 12 * nth);
    list.writeUInt32BE(0x10000, 32 + 12 * nth);
  }
  const grown = Buffer.concat([mp4.subarray(0, edts.at), list, mp4.subarray(edts.at + edts.size)]);
  const added = list.length - edts.size;
  grown.writeUInt32BE(moov.size + added, moov.at);
  grown.writeUInt32BE(trak.size + added, trak.at);
  return grown;
}
