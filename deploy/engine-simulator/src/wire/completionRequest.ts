import { z } from 'zod';
import { nullish, samplingFields } from './samplingFields.ts';

/** A text, a list of texts, the token ids of one, or a list of those. */
export const textsSchema = z.union([
  z.string(),
  z.array(z.string()).min(1),
  z.array(z.int().min(0)).min(1),
  z.array(z.array(z.int().min(0)).min(1)).min(1),
]);

/** The fields of a legacy completion that the simulator acts on; it ignores every other. Null is absence. */
export const completionRequestSchema = z.object({
  ...samplingFields,
  model: nullish(z.string()),
  prompt: textsSchema,
  echo: nullish(z.boolean()),
  suffix: nullish(z.string()),
});
