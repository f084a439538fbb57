import { z } from 'zod';

/** Answers instead of the one wanted, before any header of it. */
const refusals = [
  'http_500',
  'http_500_flat',
  'http_500_empty',
  'http_500_html',
  'http_503',
  'http_429',
  'http_404',
  'http_401',
  'http_200_error',
  'reset_before_headers',
] as const;

/** Faults after `afterTokens`: endless silence, an end without an answer, or an end with `abort`. */
const interruptions = [
  'stall',
  'reset_mid_stream',
  'close_without_done',
  'close_inside_event',
  'error_event',
  'engine_dies',
  'abort',
] as const;

/** JSON and events that are not what they should be. */
const shapes = [
  'unknown_finish',
  'invalid_json',
  'missing_choices',
  'early_empty_choices',
  'duplicate_finish',
  'huge_event',
  'close_before_usage',
  'no_usage',
  'usage_lower',
  'usage_negative',
  'usage_overflow',
] as const;

/** Bytes that arrive in an unusual way. */
const framings = [
  'split_writes',
  'split_utf8',
  'joined_events',
  'crlf',
  'comments',
  'wrong_content_type',
  'wrong_content_length',
  'truncated_gzip',
  'never_ending',
  'trailing_bytes',
] as const;

/** Ways an engine fails (README, Faults). */
export const faultKindSchema = z.enum([...refusals, ...interruptions, ...shapes, ...framings]);
export type FaultKind = z.output<typeof faultKindSchema>;

export interface Fault {
  kind: FaultKind;
  /** Tokens generated before it happens, for the kinds that wait for some. */
  afterTokens: number;
}

/** Default: one token is sent before a fault, because a begun stream is the usual case. */
export const DEFAULT_FAULT_AFTER_TOKENS = 1;

const interruptingKinds = new Set<FaultKind>(interruptions);

/** Whether a fault interrupts the generation itself; the others bend what reaches the client. */
export const interruptsGeneration = ({ kind }: Fault): boolean => interruptingKinds.has(kind);
