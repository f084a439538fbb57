import { z } from 'zod';

const milliseconds = z.number().min(0).max(3_600_000);

/** The knobs that can change while an engine runs (`POST /admin/config`; README, Knobs). */
export const knobsSchema = z.strictObject({
  /** `constant`: every answer at its own pace. `batch`: all answers of an engine step together. */
  timeModel: z.enum(['constant', 'batch']),
  /** Constant: from being scheduled to the first token. */
  timeToFirstTokenMs: milliseconds,
  /** Constant: between two tokens of an answer. */
  interTokenMs: milliseconds,
  /** Batch: one step of an empty engine. */
  stepMs: milliseconds,
  /** Batch: what each running answer adds to a step. */
  stepMsPerRunning: milliseconds,
  /** Batch: what each prompt token computed in a step adds to it. */
  stepMsPerPrefillToken: milliseconds,
  /** Batch: tokens of one step; long prompts are computed over several. */
  maxNumBatchedTokens: z.int().min(1).max(10_000_000),
  /** Answers generated at once; the rest wait in order of arrival. */
  maxNumSeqs: z.int().min(1).max(65_536),
  /** Requests that may run and wait together; one more gets 503. Null is no bound. */
  queueCap: z.int().min(0).nullable(),
  /** Multiplies every time above: one slow replica among quick ones. */
  slowFactor: z.number().positive().max(1_000),
  /** The name of the field for thinking. Releases before 2026 use the second name. */
  reasoningField: z.enum(['reasoning', 'reasoning_content', 'both']),
  /** Whether tool calls have ids. */
  toolIds: z.enum(['present', 'missing']),
  /**
   * Rule of the window. `total`: refuses a prompt that does not fit together with the requested output. `prompt`:
   * refuses only a prompt that does not fit by itself, and cuts the output, like 0.32.0.
   */
  windowRule: z.enum(['total', 'prompt']),
  /** How long a dead engine still answers (500, and 503 on `/health`) before it refuses connections. */
  watchdogMs: milliseconds,
});
export type Knobs = z.output<typeof knobsSchema>;

/** A quick engine that does nothing wrong. */
export const DEFAULT_KNOBS: Knobs = {
  timeModel: 'constant',
  timeToFirstTokenMs: 10,
  interTokenMs: 1,
  stepMs: 6,
  stepMsPerRunning: 0.05,
  stepMsPerPrefillToken: 0.02,
  maxNumBatchedTokens: 8_192,
  maxNumSeqs: 256,
  queueCap: null,
  slowFactor: 1,
  reasoningField: 'reasoning',
  toolIds: 'present',
  windowRule: 'total',
  watchdogMs: 5_000,
};
