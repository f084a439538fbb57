import { z } from 'zod';
import type { Route } from '../wire/routes.ts';

const CREATES_VIDEO = ['POST /v1/videos'] as const;
const READS_JOB = ['GET /v1/videos/{id}', 'GET /v1/videos'] as const;
const RENDERS = ['POST /v1/videos', 'POST /v1/images/generations', 'POST /v1/audio/speech'] as const;
const TRANSCRIBES = ['POST /v1/audio/transcriptions', 'POST /v1/audio/translations'] as const;
const EVERYWHERE = null;

/** The ways a replica fails, and the routes that each can strike (README, Faults). */
export const FAULTS = {
  // Answers in place of the one wanted: nothing is begun.
  refuse_500: EVERYWHERE,
  refuse_503: EVERYWHERE,
  refuse_503_retry_after: EVERYWHERE,
  refuse_429: EVERYWHERE,
  refuse_404: EVERYWHERE,
  refuse_401: EVERYWHERE,
  refuse_409: EVERYWHERE,
  reset_before_answer: EVERYWHERE,
  never_answers: EVERYWHERE,
  // The work is done, the answer does not say so.
  answer_lost: EVERYWHERE,
  html_with_200: EVERYWHERE,
  invalid_json: EVERYWHERE,
  // The body, whatever it holds.
  body_empty: EVERYWHERE,
  body_short: EVERYWHERE,
  body_endless: EVERYWHERE,
  body_slow: EVERYWHERE,
  body_reset: EVERYWHERE,
  wrong_length: EVERYWHERE,
  wrong_type: EVERYWHERE,
  // Jobs.
  completed_without_file: CREATES_VIDEO,
  file_vanished: ['GET /v1/videos/{id}/content'],
  progress_101: READS_JOB,
  progress_null: READS_JOB,
  progress_text: READS_JOB,
  status_unknown: READS_JOB,
  list_of_10000: ['GET /v1/videos'],
  // Renders.
  stuck: RENDERS,
  render_fails: RENDERS,
  render_fails_with_prompt: RENDERS,
  render_refuses_prompt: RENDERS,
  output_empty: RENDERS,
  output_truncated: RENDERS,
  output_html: RENDERS,
  output_wrong_kind: RENDERS,
  output_without_content: RENDERS,
  output_other_size: RENDERS,
  output_forged_header: RENDERS,
  output_with_prompt: ['POST /v1/videos', 'POST /v1/images/generations'],
  fewer_images: ['POST /v1/images/generations'],
  // Speech as events.
  speech_without_done: ['POST /v1/audio/speech'],
  // Transcripts.
  usage_missing: TRANSCRIBES,
  usage_negative: TRANSCRIBES,
  usage_text: TRANSCRIBES,
  duration_negative: TRANSCRIBES,
  duration_other_form: TRANSCRIBES,
  segments_out_of_order: TRANSCRIBES,
  transcript_of_30_mb: TRANSCRIBES,
} as const satisfies Record<string, readonly Route[] | null>;

export type FaultKind = keyof typeof FAULTS;
export const faultKindSchema = z.enum(Object.keys(FAULTS) as [FaultKind, ...FaultKind[]]);

export interface Fault {
  kind: FaultKind;
  /** Bytes of the body before it strikes, for the kinds that break one. */
  afterBytes: number;
  /** The pause of `body_slow` before each byte. */
  byteMs: number;
}

/** Whether a fault can strike a route at all. */
export const canStrike = (kind: FaultKind, route: Route): boolean => {
  const routes: readonly Route[] | null = FAULTS[kind];
  return routes === null || routes.includes(route);
};
