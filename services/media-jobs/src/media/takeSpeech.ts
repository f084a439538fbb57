import type { Readable } from 'node:stream';
import type { SpeechFormat } from '../terms/mediaRequest.ts';
import { DECODER_MEMORY_BYTES } from './decoderCapacity.ts';
import { writeFlacSamples } from './flacSamples.ts';
import { MediaFault } from './mediaFault.ts';
import { createPrivateFile, type PrivateFile, type TakenFile, toTakenFile } from './privateFile.ts';
import { FILE_1, readProgress, runTool } from './runTool.ts';
import { isCutOff, writeLengths } from './wavChunks.ts';
import type { WorkPool } from './workPool.ts';

/** Speech that was decoded to its end. */
export interface Speech extends TakenFile {
  /** Decoded duration. */
  seconds: number;
}

export interface SpeechOptions {
  format: SpeechFormat;
  /** Media type of that format. */
  type: string;
  folder: string;
  pool: WorkPool;
  signal: AbortSignal;
}

/** Names of the formats for ffmpeg. Bare samples have no header, so that their rate and channels are given. */
const SOURCES: Record<SpeechFormat, string[]> = {
  mp3: ['-f', 'mp3'],
  opus: ['-f', 'ogg'],
  aac: ['-f', 'aac'],
  flac: ['-f', 'flac'],
  wav: ['-f', 'wav'],
  pcm: ['-f', 's16le', '-ar', '24000', '-ac', '1'],
};
const DECODERS = 'mp3float,mp3,opus,libopus,vorbis,aac,flac,pcm_s16le,pcm_f32le,pcm_s24le';
const LIMITS = { wallMs: 120_000, cpuSeconds: 60, memoryBytes: DECODER_MEMORY_BYTES };

/**
 * Reads speech to its end, decodes it, and writes its length into a header that has one. Engines, and this service's
 * own converter, send the header before they know the length. Throws `invalid_output` if the speech has another format,
 * is cut off or has no samples.
 */
export async function takeSpeech(source: Readable, { folder, pool, ...options }: SpeechOptions): Promise<Speech> {
  const { signal, type } = options;
  const file = await createPrivateFile(folder);
  try {
    await file.fill(source, signal);
    const seconds = await pool.run(() => measure(file, options), { signal });
    if (options.format === 'wav') await writeLengths(file.handle, await file.size());
    if (options.format === 'flac') await writeFlacSamples(file.handle, seconds);
    return { ...(await toTakenFile(file, type)), seconds };
  } catch (error) {
    await file.discard();
    throw error;
  }
}

async function measure(
  file: PrivateFile,
  { format, signal }: Pick<SpeechOptions, 'format' | 'signal'>,
): Promise<number> {
  if (format === 'wav' && (await isCutOff(file.handle, await file.size()))) throw new MediaFault('invalid_output');
  const { outcome, output } = await runTool({
    tool: 'ffmpeg',
    args: [
      ...['-nostdin', '-protocol_whitelist', 'file,pipe', '-codec_whitelist', DECODERS, '-threads', '1'],
      ...[...SOURCES[format], '-i', FILE_1, '-map', '0:a:0', '-progress', 'pipe:1', '-f', 'null', '-'],
    ],
    files: [file.handle],
    limits: LIMITS,
    signal,
  });
  if (outcome === 'too_slow') throw new MediaFault('overloaded');
  const { seconds } = readProgress(output);
  if (outcome !== 'ok' || seconds === 0) throw new MediaFault('invalid_output', { cause: new Error(outcome) });
  return seconds;
}
