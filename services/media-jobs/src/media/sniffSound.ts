/** Names for ffmpeg of the kinds of files that speech-to-text takes. */
export type SoundKind = 'flac' | 'mp3' | 'mov' | 'ogg' | 'wav' | 'matroska' | 'mpeg';

/** Bytes at the beginning of a file that decide its kind. */
export const SNIFFED_BYTES = 4_096;

const at = (head: Buffer, offset: number, text: string): boolean =>
  head.subarray(offset, offset + text.length).equals(Buffer.from(text, 'latin1'));

/** A frame of MPEG audio: eleven bits set, a layer, a rate of bits and of samples that exist. */
function isMpegFrame(head: Buffer, offset = 0): boolean {
  const [first = 0, second = 0, third = 0] = head.subarray(offset, offset + 3);
  const [version, layer, bitrate, rate] = [(second >> 3) & 3, (second >> 1) & 3, third >> 4, (third >> 2) & 3];
  return first === 0xff && second >= 0xe0 && version !== 1 && layer !== 0 && bitrate !== 15 && rate !== 3;
}

/**
 * Returns the kind of a file by its first bytes: FLAC, MPEG audio, MP4, Ogg, WAV, Matroska with WebM, or an MPEG stream. Undefined for anything
 * else, above all for playlists, which name further files, and for pictures.
 */
export function sniffSound(head: Buffer): SoundKind | undefined {
  if (at(head, 0, 'fLaC')) return 'flac';
  if (at(head, 0, 'OggS')) return 'ogg';
  if ((at(head, 0, 'RIFF') || at(head, 0, 'RF64')) && at(head, 8, 'WAVE')) return 'wav';
  if (at(head, 4, 'ftyp') && !at(head, 8, 'avif') && !at(head, 8, 'heic') && !at(head, 8, 'mif1')) return 'mov';
  if (at(head, 0, '\x1a\x45\xdf\xa3')) return 'matroska';
  if (at(head, 0, '\0\0\x01\xba')) return 'mpeg';
  if (at(head, 0, 'ID3') || isMpegFrame(head)) return 'mp3';
  return undefined;
}
