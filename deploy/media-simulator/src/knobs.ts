import { z } from 'zod';

const milliseconds = z.number().min(0).max(3_600_000);
const count = z.int().min(1).max(65_536);

/** The knobs that can change while a replica runs (`POST /admin/config`; README, Knobs). */
export const knobsSchema = z.strictObject({
  /** A render takes `renderBaseMs`, and the next three for each of its steps, frames and seconds of audio. */
  renderBaseMs: milliseconds,
  msPerStep: milliseconds,
  msPerFrame: milliseconds,
  msPerAudioSecond: milliseconds,
  /** Renders at once; the rest wait in order of arrival. */
  slots: count,
  /** Whether `progress` grows with the steps, or is 0 until it is 100. */
  progress: z.enum(['none', 'steps']),
  /** The status of a job until it has ended, while its render waits. */
  waitingStatus: z.enum(['queued', 'in_progress']),
  /** And where its render runs. */
  runningStatus: z.enum(['queued', 'in_progress']),
  /** How a failed job is answered: with the status of its error, or with 200. */
  failedJobStatus: z.enum(['error', 'ok']),
  /** Whether DELETE of an unfinished job stops its render. */
  deleteAborts: z.boolean(),
  /** Whether DELETE of a finished job removes its file. */
  deleteRemovesFile: z.boolean(),
  /** Frames of a clip whose length nobody named. */
  defaultFrames: count,
  /** Formats that it makes; others are refused. */
  speechFormats: z.array(z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])),
  /** The first is the one that is used where none is named. */
  voices: z.array(z.string().min(1)).min(1),
  /** `duration` of a verbose transcript. */
  durationForm: z.enum(['number', 'text']),
});
export type Knobs = z.output<typeof knobsSchema>;

/** A quick replica that does nothing wrong; a personality changes some. */
export const DEFAULT_KNOBS: Knobs = {
  renderBaseMs: 20,
  msPerStep: 0,
  msPerFrame: 0,
  msPerAudioSecond: 0,
  slots: 1,
  progress: 'none',
  waitingStatus: 'queued',
  runningStatus: 'in_progress',
  failedJobStatus: 'ok',
  deleteAborts: true,
  deleteRemovesFile: true,
  defaultFrames: 96,
  speechFormats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  voices: ['vivian', 'ryan', 'aiden'],
  durationForm: 'number',
};
