import { z } from 'zod';
import { nullish, samplingFields } from './samplingFields.ts';

/** The fields of a legacy completion that the simulator acts on; it ignores every other. Null is absence. */
export const completionRequestSchema = z.object({
  ...samplingFields,
  model: nullish(z.string()),
  /** One text. Several, and token ids, which vLLM takes as well, are refused. */
  prompt: z.string(),
  suffix: nullish(z.string()),
});
export type CompletionRequest = z.output<typeof completionRequestSchema>;
