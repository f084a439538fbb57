import { toMp4Box, toRiffChunk } from '../outputs/encodeClip.ts';
import type { FaultKind } from './fault.ts';

const HTML_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>';
/** A whole GIF of one pixel: no engine makes any. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAAAAAAALAAAAAABAAEAAAICTAEAOw==', 'base64');

/** Applies a fault to an output before it is stored or sent. The answer around it stays right. */
export function bendOutput(bytes: Buffer, kind: FaultKind | undefined, { prompt }: { prompt: string }): Buffer {
  switch (kind) {
    case 'output_empty':
      return Buffer.alloc(0);
    case 'output_truncated':
      return bytes.subarray(0, Math.floor(bytes.length / 2));
    case 'output_html':
      return Buffer.from(HTML_PAGE);
    case 'output_wrong_kind':
      return GIF;
    case 'output_without_content':
      return withoutContent(bytes);
    case 'output_forged_header':
      return withForgedHeader(bytes);
    case 'output_with_prompt':
      return withPrompt(bytes, prompt);
    default:
      return bytes;
  }
}

const startsWith = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.subarray(at, at + text.length).equals(Buffer.from(text, 'latin1'));
const isMp4 = (bytes: Buffer): boolean => startsWith(bytes, 'ftyp', 4);
const isPng = (bytes: Buffer): boolean => startsWith(bytes, 'PNG', 1);
const isWav = (bytes: Buffer): boolean => startsWith(bytes, 'WAVE', 8);

/** A container with nothing in it: no frame, no sample. */
function withoutContent(bytes: Buffer): Buffer {
  if (isMp4(bytes)) return Buffer.concat([bytes.subarray(0, bytes.readUInt32BE(0)), toMp4Box('moov', Buffer.alloc(0))]);
  if (isWav(bytes)) return Buffer.concat([bytes.subarray(0, 40), Buffer.alloc(4)]);
  return bytes.subarray(0, 16);
}

/** A header that lies: a WAV of a second, a PNG of another size, an MP4 whose first box goes on for ever. */
function withForgedHeader(bytes: Buffer): Buffer {
  const forged = Buffer.from(bytes);
  if (isWav(bytes)) forged.writeUInt32LE(forged.readUInt32LE(28), 40);
  else if (isPng(bytes)) forged.writeUInt32BE(1, 16);
  else if (forged.length >= 4) forged.writeUInt32BE(2 ** 31, 0);
  return forged;
}

/** Adds the prompt to the metadata, like engines that do so. */
function withPrompt(bytes: Buffer, prompt: string): Buffer {
  const text = Buffer.from(`parameters\0${prompt}`);
  if (isMp4(bytes)) return Buffer.concat([bytes, toMp4Box('free', text)]);
  if (isPng(bytes)) {
    // Behind the header, which has 33 bytes. Decoders pass over the checksum of a text.
    const chunk = Buffer.concat([toMp4Box('tEXt', text), Buffer.alloc(4)]);
    chunk.writeUInt32BE(text.length, 0);
    return Buffer.concat([bytes.subarray(0, 33), chunk, bytes.subarray(33)]);
  }
  return Buffer.concat([bytes, toRiffChunk('JUNK', text)]);
}
