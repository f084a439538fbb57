import { z } from 'zod';

/** Something wrong in a catalog file: the steps to where it stands, and the reason. */
export interface CatalogMistake {
  steps: (string | number)[];
  reason: string;
}

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string().catch('')).catch([]);
const outlineModelSchema = z.object({
  id: text,
  aliases: texts,
  state: text.default('live'),
  replacement: text,
  clearance: texts,
  input_modalities: texts,
  max_tokens_per_image: z.number().catch(0),
  category: text,
  output_modalities: texts,
  pricing: z.unknown().optional(),
  billing_unit: text,
  unit_price: z.unknown().optional(),
  capabilities: z.record(z.string(), z.unknown()).optional().catch({}),
});
export type OutlineModel = z.output<typeof outlineModelSchema>;

/** Reads the readable parts of a file. Malformed parts count as absent, because the file's schema reports them. */
export const outlineSchema = z
  .object({ region: text, models: z.array(outlineModelSchema.catch(outlineModelSchema.parse({}))).catch([]) })
  .catch({ region: undefined, models: [] });
export type Outline = z.output<typeof outlineSchema>;
