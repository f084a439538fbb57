import type { SpeechFormat } from '../../terms/mediaRequest.ts';

const isFrame = (head: Buffer): boolean => head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0;
const startsWith = (head: Buffer, text: string): boolean => head.subarray(0, text.length).equals(Buffer.from(text));

/** How each format begins. Samples alone begin with anything. */
const BEGINNINGS: Record<SpeechFormat, (head: Buffer) => boolean> = {
  mp3: (head) => startsWith(head, 'ID3') || isFrame(head),
  opus: (head) => startsWith(head, 'OggS'),
  aac: (head) => isFrame(head),
  flac: (head) => startsWith(head, 'fLaC'),
  wav: (head) => startsWith(head, 'RIFF'),
  pcm: () => true,
};

/** A WAV that has a header and no sample is no speech. */
const WAV_HEADER_BYTES = 44;

/** Returns how many bytes distinguish speech of a format from an error page, or from a header without samples. */
export const leastBytesOf = (format: SpeechFormat): number => (format === 'wav' ? WAV_HEADER_BYTES + 1 : 4);

/**
 * Returns whether an answer that begins with `head` may be speech of a format. Its media type counts only if the bytes
 * prove nothing.
 */
export function isSpeech(
  head: Buffer,
  { format, contentType }: { format: SpeechFormat; contentType: string },
): boolean {
  if (format === 'pcm' && /^(text\/html|application\/json|application\/problem)/.test(contentType)) return false;
  return BEGINNINGS[format](head);
}
