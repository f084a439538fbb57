import type { Dialect } from '../../terms/backend.ts';
import { renderImage } from './renderImage.ts';
import { toForm } from './toForm.ts';
import { clipFields, videoJobs } from './videoJobs.ts';
import type { Wire } from './wire.ts';

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
