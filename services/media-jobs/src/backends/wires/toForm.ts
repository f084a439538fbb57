import { FormData } from 'undici';
import type { VideoRequest } from '../../terms/mediaRequest.ts';

/** A form of the fields that are there, and of the image that a video begins with, under a name of ours. */
export function toForm(
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
