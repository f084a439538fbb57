import { PassThrough, type Readable } from 'node:stream';
import type { SpeechFormat } from '../terms/mediaRequest.ts';
import { CONVERTER_MEMORY_BYTES } from './decoderCapacity.ts';
import { MediaFault } from './mediaFault.ts';
import { spawnTool } from './runTool.ts';
import { type SampleForm, takeWavHeader } from './takeWavHeader.ts';

/** Format of bare samples, in both directions. */
const SAMPLES: SampleForm = { format: 's16le', rate: 24_000, channels: 1 };
const LIMITS = { wallMs: 900_000, cpuSeconds: 120, memoryBytes: CONVERTER_MEMORY_BYTES };

const toArgs = ({ format, rate, channels }: SampleForm): string[] => [
  ...['-f', format, '-ar', String(rate), '-ac', String(channels)],
];
const TARGETS: Record<SpeechFormat, string[]> = {
  mp3: ['-c:a', 'libmp3lame', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-page_duration', '20000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
  wav: ['-c:a', 'pcm_s16le', '-f', 'wav'],
  pcm: toArgs(SAMPLES),
};

/**
 * Converts speech to another format as it arrives. The result fails with the error of `audio`, and with
 * `invalid_output` if that is not in format `from`. `audio` ends with the result.
 */
export async function convertSpeech(
  audio: Readable,
  { from, to, signal }: { from: 'wav' | 'pcm'; to: SpeechFormat; signal: AbortSignal },
): Promise<Readable> {
  audio.on('error', () => {}); // the stream may fail while no client reads it
  const source = from === 'wav' ? await takeWavHeader(audio).catch((error) => endWith(audio, error)) : SAMPLES;
  const { child, kill } = spawnTool(
    {
      tool: 'ffmpeg',
      args: [
        ...['-protocol_whitelist', 'pipe', '-threads', '1', '-analyzeduration', '0', '-probesize', '32'],
        ...[...toArgs(source), '-i', 'pipe:0', '-map', '0:a:0', '-map_metadata', '-1', ...TARGETS[to]],
        ...['-flush_packets', '1', 'pipe:1'],
      ],
      limits: LIMITS,
    },
    [],
  );
  const abort = (): void => void converted.destroy(signal.reason);
  const timer = setTimeout(() => converted.destroy(new MediaFault('overloaded')), LIMITS.wallMs).unref();
  const converted = new PassThrough({
    // The result ends at once, without its remaining bytes.
    destroy(error, done) {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      kill();
      audio.destroy();
      done(error);
    },
  });
  converted.on('error', () => {}); // the reader gets the error
  signal.addEventListener('abort', abort, { once: true });
  audio.on('error', (error) => converted.destroy(error)).pipe(child.stdin);
  child.stdout.pipe(converted, { end: false });
  child.once('error', (error) => converted.destroy(error));
  child.once('close', (code) => {
    if (code === 0) converted.end();
    else converted.destroy(new MediaFault('invalid_output', { cause: new Error(`ended with ${code}`) }));
  });
  if (signal.aborted) abort();
  return converted;
}

function endWith(audio: Readable, error: unknown): never {
  audio.destroy();
  throw error;
}
