import { FormData } from 'undici';
import type { Dialect } from '../../terms/backend.ts';
import type { VideoRequest } from '../../terms/mediaRequest.ts';
import { hear } from './hear.ts';
import { renderImage } from './renderImage.ts';
import { speak } from './speak.ts';
import { clipFields, videoJobs } from './videoJobs.ts';
import type { Wire } from './wire.ts';

/** Largest page of vLLM-Omni, which answers 422 to a larger one. */
const PAGE_SIZE = 100;

/**
 * vLLM-Omni. Videos are forms, with `seconds` as text; without a length they have one frame. A failed job has the
 * status of its error in newer builds. Speech comes as events if it can be streamed, because the last event proves that
 * it is complete.
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

/** SGLang diffusion: whole `seconds`. */
export const sglang = (wire: Wire): Dialect => ({
  image: renderImage(wire),
  ...videoJobs(wire, {
    toBody(request, about) {
      const fields = clipFields(request, about);
      return request.inputReference ? toForm(fields, request.inputReference) : fields;
    },
  }),
});

/** TensorRT-LLM VisualGen: 202 for a job, `error` as a text, and an AVI unless another container is requested. */
export const trtllm = (wire: Wire): Dialect => ({
  image: renderImage(wire),
  ...videoJobs(wire, {
    toBody(request, about) {
      const fields = { ...clipFields(request, about), output_format: 'mp4' };
      return request.inputReference ? toForm(fields, request.inputReference) : fields;
    },
  }),
});

/** vLLM with a speech-to-text model: segments where the model has them, never words. */
export const vllmAsr = (wire: Wire): Dialect => ({ transcribe: hear(wire, { hasWords: false, timesCostText: true }) });

/**
 * Speaches: faster-whisper, with words, and speech in all formats as events. The last event proves that the speech is
 * complete.
 */
export const speaches = (wire: Wire): Dialect => ({
  transcribe: hear(wire, { hasWords: true, timesCostText: false }),
  speech: speak(wire, {
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    furtherFields: () => ({ stream_format: 'sse' }),
  }),
});

/** Kokoro-FastAPI: speech in all formats, streamed; a failure breaks the body of a 200. */
export const kokoro = (wire: Wire): Dialect => ({
  speech: speak(wire, {
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    furtherFields: () => ({ stream: true }),
  }),
});

/** Creates a form with the present fields and the first image of a video, under a fixed file name. */
function toForm(
  fields: Record<string, string | number | undefined>,
  inputReference: VideoRequest['inputReference'],
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, String(value));
  if (inputReference) {
    const { bytes, type } = inputReference;
    form.set('input_reference', new Blob([Uint8Array.from(bytes)], { type }), `reference.${type.split('/')[1] ?? ''}`);
  }
  return form;
}
