import type { Dialect } from '../../terms/backend.ts';
import { renderImage } from './renderImage.ts';
import { speak } from './speak.ts';
import { toForm } from './toForm.ts';
import { clipFields, videoJobs } from './videoJobs.ts';
import type { Wire } from './wire.ts';

/** It is 422 for more. */
const PAGE_SIZE = 100;

/**
 * vLLM-Omni. Videos are forms, with `seconds` as text; who names no length gets one frame. A failed job has the status of its error in
 * newer builds. Speech comes as events where it can be streamed, as their last one says that it is whole.
 */
export const vllmOmni = (wire: Wire): Dialect => ({
  image: renderImage(wire),
  ...videoJobs(wire, {
    toBody: (request, about) => toForm(clipFields(request, about), request.inputReference),
    pageSize: PAGE_SIZE,
  }),
  speech: speak(wire, {
    formats: ['wav', 'pcm', 'flac', 'mp3', 'opus'],
    furtherFields: ({ instructions, speed }, format) => ({
      ...(instructions !== undefined && { instructions }),
      ...((format === 'wav' || format === 'pcm') && speed === 1 && { stream_format: 'sse' }),
    }),
  }),
});
