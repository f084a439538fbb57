import type { Readable } from 'node:stream';
import { MediaFault } from './mediaFault.ts';

/** Format of the samples behind a WAV's header. */
export interface SampleForm {
  /** Name for ffmpeg. */
  format: 's16le' | 'f32le';
  rate: number;
  channels: number;
}

const RIFF_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const FORMAT_BYTES = 16;
const MAX_HEADER_BYTES = 4_096;

/**
 * Takes the header off a WAV that comes in pieces, as soon as that is here: ffmpeg would wait for 64 KiB of sound first. Throws
 * `invalid_output` where it is none, or the stream's own error.
 */
export async function takeWavHeader(audio: Readable): Promise<SampleForm> {
  let head = Buffer.alloc(0);
  for await (const chunk of audio.iterator({ destroyOnReturn: false })) {
    head = Buffer.concat([head, chunk]);
    const header = readHeader(head);
    if (header) {
      if (head.length > header.bytes) audio.unshift(head.subarray(header.bytes));
      return header.form;
    }
    if (head.length > MAX_HEADER_BYTES) break;
  }
  throw new MediaFault('invalid_output');
}

/** The header and its length; undefined where its end is not here yet. */
function readHeader(head: Buffer): { form: SampleForm; bytes: number } | undefined {
  if (head.length < RIFF_BYTES) return undefined;
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') {
    throw new MediaFault('invalid_output');
  }
  let form: SampleForm | undefined;
  for (let at = RIFF_BYTES; at + CHUNK_HEADER_BYTES <= head.length; ) {
    const name = head.toString('latin1', at, at + 4);
    const length = head.readUInt32LE(at + 4);
    at += CHUNK_HEADER_BYTES;
    if (name === 'data') {
      if (!form) throw new MediaFault('invalid_output');
      return { form, bytes: at };
    }
    if (name === 'fmt ') {
      if (head.length < at + FORMAT_BYTES) return undefined;
      form = readForm(head.subarray(at, at + FORMAT_BYTES));
    }
    at += length + (length % 2);
  }
  return undefined;
}

function readForm(chunk: Buffer): SampleForm {
  const [channels, rate, bits] = [chunk.readUInt16LE(2), chunk.readUInt32LE(4), chunk.readUInt16LE(14)];
  const format = bits === 16 ? 's16le' : bits === 32 ? 'f32le' : undefined;
  if (!format || channels < 1 || channels > 2 || rate < 8_000 || rate > 192_000) throw new MediaFault('invalid_output');
  return { format, rate, channels };
}
