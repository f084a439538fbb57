import type { Dialect } from '../../terms/backend.ts';
import { renderImage } from './renderImage.ts';
import { toForm } from './toForm.ts';
import { clipFields, videoJobs } from './videoJobs.ts';
import type { Wire } from './wire.ts';

/** TensorRT-LLM VisualGen: 202 for a job, `error` as a text, and an AVI unless another container is asked for. */
export const trtllm = (wire: Wire): Dialect => ({
  image: renderImage(wire),
  ...videoJobs(wire, {
    toBody(request, about) {
      const fields = { ...clipFields(request, about), output_format: 'mp4' };
      return request.inputReference ? toForm(fields, request.inputReference) : fields;
    },
  }),
});
