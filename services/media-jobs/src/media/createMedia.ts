import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Readable } from 'node:stream';
import type { DecoderNow } from '@turnpike/telemetry/mediaMetrics';
import type { SpeechFormat, Upload } from '../terms/mediaRequest.ts';
import { convertSpeech } from './convertSpeech.ts';
import { MediaFault } from './mediaFault.ts';
import { prepareRecording, type Recording } from './prepareRecording.ts';
import { runTool } from './runTool.ts';
import { type Clip, takeClip } from './takeClip.ts';
import { type AskedImage, takeImage } from './takeImage.ts';
import type { TakenFile } from './takenFile.ts';
import { type Speech, type SpeechOptions, takeSpeech } from './takeSpeech.ts';
import { createWorkPool } from './workPool.ts';

/** What is done to files of sound, pictures and video. Rejects with a `MediaFault`, as the stream fails, or with the signal's reason. */
export interface Media {
  /** What engines are sent of an upload, with its seconds. `overloaded` where too much waits already, or its turn does not come within seconds. */
  prepareRecording(
    upload: Pick<Upload, 'path'>,
    options: { maxSeconds: number; signal: AbortSignal },
  ): Promise<Recording>;
  /** Reads a clip that a backend made. Waits for its turn. */
  takeClip(source: Readable, signal: AbortSignal): Promise<Clip>;
  /** Reads an image that a backend made. Waits for its turn. */
  takeImage(source: Readable, asked: AskedImage, signal: AbortSignal): Promise<TakenFile>;
  /** Reads speech that a backend made, for who stores it. Waits for its turn. */
  takeSpeech(source: Readable, options: Pick<SpeechOptions, 'format' | 'type' | 'signal'>): Promise<Speech>;
  /** Speech in another format, as it comes. `overloaded` where too much is converted already. */
  convertSpeech(
    audio: Readable,
    options: { from: 'wav' | 'pcm'; to: SpeechFormat; signal: AbortSignal },
  ): Promise<Readable>;
  /** How much of that is done now. */
  load(): DecoderNow;
}

/** One core is left for everything else. */
const SLOTS = Math.max(availableParallelism() - 1, 1);
/** Uploads that wait for their turn, on disk: a client waits for the engine too, so some seconds more are better than a refusal. */
const WAITING = { maxWaiting: 16 * SLOTS, maxWaitMs: 5_000 };
/** They mostly wait for an engine. */
const MAX_CONVERSIONS = 16 * SLOTS;

/** Of a look whether a tool is there. */
const LOOK_LIMITS = { wallMs: 30_000, cpuSeconds: 10 };

/** `folder` is private to this process, and holds what is being converted. Rejects where ffmpeg or ffprobe cannot be run. */
export async function createMedia({ folder }: { folder: string }): Promise<Media> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const tool of ['ffmpeg', 'ffprobe'] as const)
    await runTool({ tool, args: ['-version'], files: [], limits: LOOK_LIMITS, signal: new AbortController().signal });
  const pool = createWorkPool({ slots: SLOTS, ...WAITING });
  let conversions = 0;
  let refusals = 0;
  const countRefusal = (error: unknown): never => {
    if (error instanceof MediaFault && error.kind === 'overloaded') refusals += 1;
    throw error;
  };

  return {
    prepareRecording: (upload, { maxSeconds, signal }) =>
      pool
        .run(() => prepareRecording(upload, { folder, maxSeconds, signal }), { isPatient: false, signal })
        .catch(countRefusal),
    takeClip: (source, signal) => takeClip(source, { folder, pool, signal }),
    takeImage: (source, asked, signal) => takeImage(source, asked, { folder, pool, signal }),
    takeSpeech: (source, options) => takeSpeech(source, { ...options, folder, pool }),
    async convertSpeech(audio, options) {
      if (conversions >= MAX_CONVERSIONS) countRefusal(new MediaFault('overloaded'));
      conversions += 1;
      const end = (): void => {
        conversions -= 1;
      };
      const converted = await convertSpeech(audio, options).catch((error: unknown) => {
        end();
        throw error;
      });
      return converted.once('close', end);
    },
    load: () => ({ slots: SLOTS, ...pool.load, converting: conversions, refusals }),
  };
}
