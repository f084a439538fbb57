import { z } from 'zod';
import type { EngineName } from '../terms/backend.ts';
import { MAX_ENTRIES, MAX_SLOTS } from './limits.ts';

const ENGINES = [
  'vllm-omni',
  'sglang',
  'trtllm',
  'vllm-asr',
  'speaches',
  'kokoro',
] as const satisfies readonly EngineName[];

const entrySchema = z.strictObject({
  /** Part of rows, logs and metrics. */
  id: z.string().regex(/^[A-Za-z0-9._:/@-]{1,96}$/, 'must be letters, digits and . _ : / @ -'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address, as in http://10.0.0.7:8000' })
    .transform((text) => new URL(text).origin),
  engine: z.enum(ENGINES),
  model: z.string().min(1).max(96),
  slots: z.int().min(1).max(MAX_SLOTS).default(1),
  draining: z.boolean().default(false),
});

/** The entries of what a backends file holds. */
export const replicaEntriesSchema = z
  .strictObject({
    backends: z
      .array(entrySchema)
      .max(MAX_ENTRIES)
      .refine((entries) => new Set(entries.map(({ id }) => id)).size === entries.length, 'a backend id stands twice'),
  })
  .transform(({ backends }) => backends);
