import { aPng } from '@turnpike/test-support/anImage';
import { FormData } from 'undici';
import type { MediaModels } from '../../stack/mediaModels.ts';
import type { Random } from '../random.ts';
import type { MediaKind, MediaRecord } from './mediaRecord.ts';
import { writeWav } from './writeWav.ts';

export interface MediaPlan extends Pick<MediaRecord, 'kind' | 'prompt' | 'units'> {
  apiKey: string;
  path: string;
  body: object | FormData;
  /** The path of its job; undefined if the answer is the result. */
  jobsPath: string | undefined;
  /** How long after its creation the client deletes the job; not at all where it is undefined. */
  deleteAfterMs: number | undefined;
  /** How its client sends the call again: not at all where this is undefined. */
  retries: Retries | undefined;
}

/** The habit of the usual clients: after an answer that is late, broken, 429 or 5xx, unless the answer forbids a retry. */
export interface Retries {
  most: number;
  /** How long the client waits for an answer before it sends the call again. */
  patienceMs: number;
}

const MOST_IMAGES = 3;
/** Seconds of a recording, from and to, in tenths. */
const RECORDING_TENTHS: [number, number] = [8, 35];

/**
 * Draws what one call of a kind asks for. A clip lasts `seconds` where that is given. A `canary` stands in all that a client says; a video
 * has an image then to begin with, in which it stands as well.
 */
export function planMedia(
  kind: MediaKind,
  {
    models,
    prompt,
    seconds,
    random,
    apiKey,
    canary,
  }: {
    models: MediaModels;
    prompt: string;
    seconds?: number | undefined;
    random: Random;
    apiKey: string;
    canary?: string | undefined;
  },
): Omit<MediaPlan, 'deleteAfterMs' | 'retries'> {
  const base = { kind, apiKey, prompt: canary === undefined ? prompt : `${prompt} ${canary}` };
  switch (kind) {
    case 'images':
    case 'image job': {
      const units = random.between(1, MOST_IMAGES);
      const { id: model, size } = models.image;
      const isAsync = kind === 'image job';
      const body = { model, prompt: base.prompt, n: units, size, ...(isAsync && { async: true }) };
      return { ...base, units, path: '/images/generations', body, jobsPath: isAsync ? '/images/jobs' : undefined };
    }
    case 'video': {
      const { id: model, size, seconds: lengths } = models.video;
      const units = seconds ?? lengths[random.between(0, lengths.length - 1)] ?? 1;
      const body = {
        model,
        prompt: base.prompt,
        seconds: `${units}`,
        size,
        ...(canary !== undefined && {
          input_reference: `data:image/png;base64,${aPng({ comment: canary }).toString('base64')}`,
        }),
      };
      return { ...base, units, path: '/videos', body, jobsPath: '/videos' };
    }
    case 'speech':
    case 'speech job': {
      // One character that is two in UTF-16, so that a count of those shows.
      const prompt = `${base.prompt} ${'a'.repeat(random.between(0, 20))}\u{1F98A}`;
      const { id: model } = models.speech;
      const isAsync = kind === 'speech job';
      const body = {
        model,
        input: prompt,
        voice: 'af_heart',
        response_format: 'wav',
        ...(isAsync && { async: true }),
      };
      const jobsPath = isAsync ? '/audio/jobs' : undefined;
      return { ...base, prompt, units: [...prompt].length, path: '/audio/speech', body, jobsPath };
    }
    case 'transcript':
    case 'transcript job': {
      const seconds = random.between(...RECORDING_TENTHS) / 10;
      const isAsync = kind === 'transcript job';
      const body = new FormData();
      body.set('model', models.transcript.id);
      if (isAsync) body.set('async', 'true');
      body.set('file', new Blob([writeWav(seconds, random)], { type: 'audio/wav' }), 'a.wav');
      const jobsPath = isAsync ? '/audio/jobs' : undefined;
      return { ...base, units: Math.ceil(seconds), path: '/audio/transcriptions', body, jobsPath };
    }
  }
}
