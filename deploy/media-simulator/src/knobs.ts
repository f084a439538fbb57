import { z } from 'zod';

const milliseconds = z.number().min(0).max(3_600_000);
const count = z.int().min(1).max(65_536);

/** What can be changed while a replica runs (`POST /admin/config`; README, Knobs). */
export const knobsSchema = z.strictObject({
  /** A render takes `renderBaseMs`, and the next three for each of its steps, frames and seconds of audio. */
  renderBaseMs: milliseconds,
  msPerStep: milliseconds,
  msPerFrame: milliseconds,
  msPerAudioSecond: milliseconds,
  /** Renders at once; the rest wait in order of arrival. */
  slots: count,
  /** Renders that may run and wait together; one more gets 503. Null is no bound. */
  queueCap: z.int().min(0).nullable(),
  /** Whether `progress` grows with the steps, or is 0 until it is 100. */
  progress: z.enum(['none', 'steps']),
  /** What a job is called until it has ended, where its render waits. */
  waitingStatus: z.enum(['queued', 'in_progress']),
  /** And where its render runs. */
  runningStatus: z.enum(['queued', 'in_progress']),
  /** How a failed job is answered: with the status of its error, or with 200. */
  failedJobStatus: z.enum(['error', 'ok']),
  /** Whether DELETE of an unfinished job stops its render. */
  deleteAborts: z.boolean(),
  /** Whether DELETE of a finished job removes its file. */
  deleteRemovesFile: z.boolean(),
  /** How long a render takes to stop. Longer than 2 s, and DELETE is 409 meanwhile. */
  abortMs: milliseconds,
  /** What outlives a restart: nothing, or the records. Files do anyway. */
  recordStore: z.enum(['memory', 'disk']),
  /** How long a finished job and its file are kept. Null is for ever. */
  expireAfterMs: milliseconds.nullable(),
  /** Bytes of files that fit the disk. Null is no bound. */
  diskBytes: z.int().min(0).nullable(),
  /** Ids made of this and a counter that begins anew with each restart. Null: random ones. */
  idSeed: z.string().min(1).max(100).nullable(),
  /** The body of an error. Null: the personality's own. */
  errorForm: z.enum(['detail', 'envelope', 'flat', 'nested_detail']).nullable(),
  /** Frames of a clip whose length nobody named. */
  defaultFrames: count,
  /** What a model makes of a number of frames; `4k+1` is the next number of that kind. */
  frameRule: z.enum(['exact', '4k+1']),
  clipContainer: z.enum(['mp4', 'avi']),
  /** Formats that it makes; others are refused. */
  imageFormats: z.array(z.enum(['png', 'jpeg', 'webp'])),
  speechFormats: z.array(z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])),
  /** The first is the one that is used where none is named. */
  voices: z.array(z.string().min(1)).min(1),
  /** `duration` of a verbose transcript. */
  durationForm: z.enum(['number', 'text']),
  maxAudioSeconds: z.int().min(1),
  maxAudioMegabytes: z.int().min(1),
});
export type Knobs = z.output<typeof knobsSchema>;

/** A quick replica that does nothing wrong; a personality changes some. */
export const DEFAULT_KNOBS: Knobs = {
  renderBaseMs: 20,
  msPerStep: 0,
  msPerFrame: 0,
  msPerAudioSecond: 0,
  slots: 1,
  queueCap: null,
  progress: 'none',
  waitingStatus: 'queued',
  runningStatus: 'in_progress',
  failedJobStatus: 'ok',
  deleteAborts: true,
  deleteRemovesFile: true,
  abortMs: 0,
  recordStore: 'memory',
  expireAfterMs: null,
  diskBytes: null,
  idSeed: null,
  errorForm: null,
  defaultFrames: 96,
  frameRule: '4k+1',
  clipContainer: 'mp4',
  imageFormats: ['png', 'jpeg', 'webp'],
  speechFormats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
  voices: ['vivian', 'ryan', 'aiden'],
  durationForm: 'number',
  maxAudioSeconds: 600,
  maxAudioMegabytes: 25,
};
