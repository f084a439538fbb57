import type { JobErrorCode } from '@turnpike/public-api/mediaJob';

/** What clients are told of a failed job. No word of an engine is in it. */
export const JOB_ERROR_MESSAGES: Readonly<Record<JobErrorCode, string>> = {
  generation_failed: 'The model failed to make it. Nothing was charged.',
  content_refused: 'The model refused the request for its content. Nothing was charged.',
  invalid_output: 'What the model made cannot be used. Nothing was charged.',
  timed_out: 'It was not made in time. Nothing was charged.',
  queue_timeout: 'Its turn did not come in time. Nothing was charged.',
  backend_lost: 'The machine that was making it went away. Nothing was charged.',
  storage_unavailable: 'What was made could not be stored. Nothing was charged.',
  model_deactivated: 'The model was switched off by an administrator. Nothing was charged.',
};
