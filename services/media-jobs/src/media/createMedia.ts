import { mkdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { DecoderNow } from '@turnpike/telemetry/mediaMetrics';
import type { SpeechFormat, Upload } from '../terms/mediaRequest.ts';
import { type AudioCopy, openAudioCopy } from './audioCopy.ts';
import { convertSpeech } from './convertSpeech.ts';
import { CONVERTER_MEMORY_BYTES, readMachine, toDecoderCapacity } from './decoderCapacity.ts';
import { MediaFault } from './mediaFault.ts';
import { prepareRecording, type Recording, type RecordingOptions } from './prepareRecording.ts';
import type { TakenFile } from './privateFile.ts';
import { runTool } from './runTool.ts';
import { type Clip, takeClip } from './takeClip.ts';
import { type AskedImage, takeImage } from './takeImage.ts';
import { type Speech, type SpeechOptions, takeSpeech } from './takeSpeech.ts';
import { createWorkPool } from './workPool.ts';

/** The owner of a file, and whether the file waits for its turn without a limit. */
export interface ClientWork {
  owner: SlotOwner;
  isPatient: boolean;
  /** Called at the turn of the work. If it throws, nothing is done. */
  onTurn?: () => void;
}

/**
 * Work on audio, image and video files. Rejects with a `MediaFault`, with the stream's error, or with the signal's
 * reason.
 */
export interface Media {
  /**
   * Converts an upload to the file that engines get, and measures its seconds. Rejects with `overloaded` if too much of
   * the key waits already, or if its turn does not come within seconds. A job's upload (`isPatient`) waits for its
   * turn.
   */
  prepareRecording(
    upload: Pick<Upload, 'path'>,
    options: ClientWork & Omit<RecordingOptions, 'folder'>,
  ): Promise<Recording>;
  /** Reads a clip that a backend made. Waits for its turn. */
  takeClip(source: Readable, signal: AbortSignal): Promise<Clip>;
  /** Reads an image that a backend made. Waits for its turn. */
  takeImage(source: Readable, asked: AskedImage, signal: AbortSignal): Promise<TakenFile>;
  /** Reads speech that a backend made, to be stored. Waits for its turn. */
  takeSpeech(source: Readable, options: Pick<SpeechOptions, 'format' | 'type' | 'signal'>): Promise<Speech>;
  /** Converts speech to another format as it arrives. Rejects with `overloaded` if too many conversions run. */
  convertSpeech(
    audio: Readable,
    options: { from: 'wav' | 'pcm'; to: SpeechFormat; signal: AbortSignal },
  ): Promise<Readable>;
  /** Creates a copy of audio, to be written as the audio passes. */
  copyAudio(): Promise<AudioCopy>;
  /** Returns the current load. */
  load(): DecoderNow;
}

/**
 * Most waiting uploads of one key, on disk, and their longest wait. Clients wait for the engine anyway, so some seconds
 * more are better than a refusal.
 */
const WAITING = { maxWaiting: 16, maxWaitMs: 5_000 };

/** Limits of the version check of ffmpeg and ffprobe. */
const LOOK_LIMITS = { wallMs: 30_000, cpuSeconds: 10, memoryBytes: CONVERTER_MEMORY_BYTES };

/**
 * Creates `Media`. `folder` is private to this process and holds files during conversion. Rejects if ffmpeg or ffprobe
 * cannot be run.
 */
export async function createMedia({ folder }: { folder: string }): Promise<Media> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const tool of ['ffmpeg', 'ffprobe'] as const)
    await runTool({ tool, args: ['-version'], files: [], limits: LOOK_LIMITS, signal: new AbortController().signal });
  const capacity = toDecoderCapacity(readMachine());
  const pool = createWorkPool({ slots: capacity.slots, ...WAITING });
  let conversions = 0;
  let refusals = 0;
  const countRefusal = (error: unknown): never => {
    if (error instanceof MediaFault && error.kind === 'overloaded') refusals += 1;
    throw error;
  };

  return {
    prepareRecording: (upload, { owner, isPatient, onTurn, ...options }) =>
      pool
        .run(
          async () => {
            onTurn?.();
            return prepareRecording(upload, { ...options, folder });
          },
          { owner, isPatient, signal: options.signal },
        )
        .catch(countRefusal),
    takeClip: (source, signal) => takeClip(source, { folder, pool, signal }),
    takeImage: (source, asked, signal) => takeImage(source, asked, { folder, pool, signal }),
    takeSpeech: (source, options) => takeSpeech(source, { ...options, folder, pool }),
    async convertSpeech(audio, options) {
      if (conversions >= capacity.conversions) countRefusal(new MediaFault('overloaded'));
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
    copyAudio: () => openAudioCopy(folder),
    load: () => ({ slots: capacity.slots, ...pool.load, converting: conversions, refusals }),
  };
}
