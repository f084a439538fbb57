import { runFfmpeg } from './runFfmpeg.ts';
import { SPEECH_RATE } from './tones.ts';

export type AudioFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

const ENCODERS = {
  mp3: ['-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-f', 'ogg'],
  aac: ['-f', 'adts'],
  flac: ['-f', 'flac'],
};
const HEADER_BYTES = 44;
const UNKNOWN_LENGTH = 0xffff_ffff;

/** Samples of speech as a file. A WAV that is streamed does not know its length when its header goes out. */
export function encodeAudio(
  pcm: Buffer,
  format: AudioFormat,
  { isStreamed }: { isStreamed: boolean },
): Promise<Buffer> {
  if (format === 'pcm') return Promise.resolve(pcm);
  if (format === 'wav') return Promise.resolve(Buffer.concat([wavHeader(isStreamed ? undefined : pcm.length), pcm]));
  const input = ['-f', 's16le', '-ar', String(SPEECH_RATE), '-ac', '1', '-i', 'pipe:0'];
  return runFfmpeg([...input, ...ENCODERS[format], 'pipe:1'], pcm);
}

function wavHeader(dataBytes: number | undefined): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(dataBytes === undefined ? UNKNOWN_LENGTH : dataBytes + HEADER_BYTES - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // integer samples
  header.writeUInt16LE(1, 22); // one channel
  header.writeUInt32LE(SPEECH_RATE, 24);
  header.writeUInt32LE(SPEECH_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes ?? UNKNOWN_LENGTH, 40);
  return header;
}
