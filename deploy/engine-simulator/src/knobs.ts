import { z } from 'zod';

const milliseconds = z.number().min(0).max(3_600_000);

/** How long things take and how many fit (README, Time and capacity). */
const timeKnobs = {
  /** `constant`: every choice at its own pace. `batch`: all choices of an engine step together. */
  timeModel: z.enum(['constant', 'batch']),
  /** Constant: from being scheduled to the first token, before what the prompt adds. */
  timeToFirstTokenMs: milliseconds,
  /** Constant: what each prompt token that is not in the prefix cache adds to it. */
  prefillMsPerToken: milliseconds,
  /** Constant: between two tokens of a choice, on an otherwise idle engine. */
  interTokenMs: milliseconds,
  /** Constant: what each choice that runs at the same time adds to it. */
  interTokenMsPerRunning: milliseconds,
  /** Batch: one step of an empty engine. */
  stepMs: milliseconds,
  /** Batch: what each running choice adds to a step. */
  stepMsPerRunning: milliseconds,
  /** Batch: what each prompt token computed in a step adds to it. */
  stepMsPerPrefillToken: milliseconds,
  /** Batch: tokens of one step; long prompts are computed over several. */
  maxNumBatchedTokens: z.int().min(1).max(10_000_000),
  /** Choices generated at once; the rest wait in order of arrival. */
  maxNumSeqs: z.int().min(1).max(65_536),
  /** Multiplies every time above: one slow replica among quick ones. */
  slowFactor: z.number().positive().max(1_000),
};

/** What differs on the wire between releases of vLLM, and between ways to start it (README, Fidelity). */
const fidelityKnobs = {
  errorShape: z.enum(['nested', 'flat']),
  reasoningField: z.enum(['reasoning', 'reasoning_content', 'both']),
  /** Whether `cached_tokens` is told when it is zero. */
  cachedZero: z.enum(['present', 'absent']),
  /** Whether usage tells cached and image tokens (vLLM's `--enable-prompt-tokens-details`). */
  enablePromptTokensDetails: z.boolean(),
  metricGeneration: z.enum(['old', 'new']),
  toolIds: z.enum(['present', 'missing']),
  /** Whether the first delta of a call has its (empty) arguments, and none has a null content. */
  toolDeltas: z.enum(['bare', 'full']),
  fingerprint: z.enum(['on', 'off']),
  contextSentence: z.enum(['v07', 'v2026a', 'v2026b', 'v032']),
  /** Status of an image that cannot be fetched. */
  imageErrors: z.union([z.literal(422), z.literal(400)]),
  /** Choices that may run and wait together; a request that would make more gets 503. Null is no bound. */
  queueCap: z.int().min(0).nullable(),
  /** Silence after which a stream carries a comment; null is never. */
  keepaliveCommentsSeconds: z.number().positive().max(3_600).nullable(),
  /** Every stream has usage on every chunk, asked or not (vLLM's `--enable-force-include-usage`). */
  forceIncludeUsage: z.boolean(),
};

/** Ways an engine misleads or dies that concern no single request. */
const faultKnobs = {
  /** `/metrics` goes on showing the gauges of the moment this was set. */
  frozenGauges: z.boolean(),
  /** Metric names that `/metrics` leaves out. */
  missingMetrics: z.array(z.string()).max(100),
  metricsDelayMs: milliseconds,
  /** `/metrics` answers 500. */
  failingMetrics: z.boolean(),
  /** The window that `/v1/models` and `/tokenize` tell instead of the true one. */
  advertisedMaxModelLen: z.int().min(1).nullable(),
  /** A prompt of this many tokens or more kills the engine. */
  oomPromptTokens: z.int().min(1).nullable(),
  /** How long a dead engine still answers (500, and 503 on `/health`) before it refuses connections. */
  watchdogMs: milliseconds,
  /** From death to being back with empty caches; null is never. */
  restartAfterMs: milliseconds.nullable(),
};

/** What can be changed while an engine runs (`POST /admin/config`). */
export const knobsSchema = z.strictObject({ ...timeKnobs, ...fidelityKnobs, ...faultKnobs });
export type Knobs = z.output<typeof knobsSchema>;

/** A quick engine of a recent release that does nothing wrong. */
const DEFAULT_KNOBS: Knobs = {
  timeModel: 'constant',
  timeToFirstTokenMs: 10,
  prefillMsPerToken: 0,
  interTokenMs: 1,
  interTokenMsPerRunning: 0,
  stepMs: 6,
  stepMsPerRunning: 0.05,
  stepMsPerPrefillToken: 0.02,
  maxNumBatchedTokens: 8_192,
  maxNumSeqs: 256,
  slowFactor: 1,
  errorShape: 'nested',
  reasoningField: 'reasoning',
  cachedZero: 'present',
  enablePromptTokensDetails: true,
  metricGeneration: 'new',
  toolIds: 'present',
  toolDeltas: 'bare',
  fingerprint: 'on',
  contextSentence: 'v2026b',
  imageErrors: 422,
  queueCap: null,
  keepaliveCommentsSeconds: null,
  forceIncludeUsage: false,
  frozenGauges: false,
  missingMetrics: [],
  metricsDelayMs: 0,
  failingMetrics: false,
  advertisedMaxModelLen: null,
  oomPromptTokens: null,
  watchdogMs: 5_000,
  restartAfterMs: null,
};

const pickSchema = z.object(knobsSchema.shape);

/** The knobs among `fields`, with the default of every one that is not there, and the other fields. */
export function splitKnobs<Fields extends object>(fields: Fields): { knobs: Knobs; others: Omit<Fields, keyof Knobs> } {
  const others = Object.entries(fields).filter(([name]) => !(name in DEFAULT_KNOBS));
  return {
    knobs: pickSchema.parse({ ...DEFAULT_KNOBS, ...fields }),
    others: Object.fromEntries(others) as Omit<Fields, keyof Knobs>,
  };
}
