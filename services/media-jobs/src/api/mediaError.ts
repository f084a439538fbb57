import {
  ACCOUNT_MESSAGES,
  toRateLimitMessage,
  toShortfallFields,
  toShortfallMessage,
} from '@turnpike/holds/gate/gateWords';
import { type AuthErrorOptions, type GuardFault, toMediaGuardError } from '@turnpike/public-api/authFault';
import type { MediaBalance, NoForm, UploadTooLarge } from '@turnpike/public-api/errorBodies';
import { NEVER_RETRY, retryAfter, toRateLimitHeaders, toWholeSeconds } from '@turnpike/public-api/headers';
import type { JobErrorCode } from '@turnpike/public-api/mediaJob';
import { toModelNotAllowedError } from '@turnpike/public-api/modelNotAllowed';
import { findWording, flat, notServed, toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { CallFault, JobFault } from './mediaFault.ts';

const NOTHING_RAN = 'Nothing was run or charged.';
const MIB = 1_048_576;

const malformed = (message: string): WireError => flat(400, 'malformed_body', { message });
const invalid = (message: string, param: string | null): WireError =>
  flat(422, 'invalid_request_body', { message, ...(param !== null && { param }) });
const unavailable = (error: string, message: string, retryAfterSeconds = 1): WireError =>
  flat(503, error, { message }, retryAfter(retryAfterSeconds));
/** A row is there, or the engine took the call: the usual clients, which retry 5xx unasked, would have it run twice. */
const failed = (status: 500 | 503, error: string, message: string): WireError =>
  flat(status, error, { message }, NEVER_RETRY);

const KEY_BOUND_MESSAGES: Partial<Record<KeyBoundFault['bound'], string>> = {
  body_memory:
    'Requests of this key take as many bytes as one key may have, or this upload stood still while others needed room.',
  job_look_ups: 'Too many look-ups of jobs are under way.',
  contents: 'This key reads as many outputs at once as one key may.',
  image_fetches: 'The workspace of this key has as many images on their way as one workspace may have.',
};
/** Bounds that the client keeps to by waiting: 429. */
const KEY_RATE_MESSAGES: Partial<Record<KeyBoundFault['bound'], (limit: number) => string>> = {
  refused_bodies: (bytes) => `${bytes / 1_048_576} MiB at once of bodies of this key that are then refused`,
  refused_recordings: (ms) => `${ms / 1_000} s a minute of decoding recordings of this key that are then refused`,
  queued_jobs: (jobs) => `${jobs} queued jobs of one model for this key`,
  cancelled_runs: (ms) => `${ms / 60_000} minutes of engines, in as many minutes, on jobs that this key cancels`,
};

/** How media word a fault past gate 1. A missing case does not compile. */
export function toMediaError(fault: CallFault, { keysPageUrl }: AuthErrorOptions): WireError {
  const docUrl = { doc_url: keysPageUrl };
  switch (fault.kind) {
    case 'body_too_large':
      return malformed(
        fault.sentBytes === undefined
          ? `The body is larger than the ${fault.maxBytes} bytes allowed here.`
          : `The body has ${fault.sentBytes} bytes, more than the ${fault.maxBytes} allowed here.`,
      );
    case 'body_text_too_large':
      return malformed(`The body holds more than ${fault.maxBytes} bytes outside inline images.`);
    case 'body_compressed':
      return malformed('Compressed bodies are not accepted. Send the body as it is, without Content-Encoding.');
    case 'body_not_json_type':
      return malformed('Send a JSON body with Content-Type: application/json.');
    case 'body_not_utf8':
      return malformed('The body is not valid UTF-8.');
    case 'body_not_json':
      return malformed('The body is not valid JSON.');
    case 'body_not_an_object':
      return malformed('The body must be a JSON object.');
    case 'body_too_deep':
      return malformed(`The body is nested deeper than ${fault.maxDepth} levels.`);
    case 'body_too_many_values':
      return malformed(`The body holds more than ${fault.maxValues} JSON values.`);
    case 'body_too_many_fields':
    case 'body_object_too_large':
      return malformed(`The body has more than ${fault.maxFields} fields in one object.`);
    case 'body_too_many_dear_keys':
      return malformed(`The body has more than ${fault.maxKeys} keys that begin with a digit or hold an escape.`);
    case 'body_key_repeated':
      return malformed(`A key stands twice in one object${fault.param === null ? '' : `: ${fault.param}`}.`);
    case 'body_keys_unreadable':
      return malformed('A key of the body cannot be read: it has an escaped control character. Send it without.');
    case 'body_text_unsendable':
      return invalid(`${fault.param ?? 'The body'} holds ${fault.has}, which no text may.`, fault.param);
    case 'body_too_slow':
      return malformed(`Nothing more of the body came for ${fault.silenceMs / 1_000} s.`);
    case 'body_unfinished':
      return malformed(`The body was not whole after ${fault.wholeMs / 1_000} s.`);
    case 'body_aborted':
      return malformed('The body ended before it was whole.');
    case 'form_not_form_type':
      return malformed('Send a form: Content-Type: multipart/form-data with a boundary.');
    case 'upload_not_form_type':
      return {
        status: 422,
        body: { error: 'invalid_request_body', message: NO_FORM, detail: NO_FORM } satisfies NoForm,
      };
    case 'form_malformed':
      return malformed('The form cannot be read: a boundary or the header of a part is missing or broken.');
    case 'form_too_large':
      return malformed(
        `The form has more than ${fault.maxParts} parts, or more than ${fault.maxTextBytes} bytes of text in them.`,
      );
    case 'upload_too_large': {
      const size = { error: 'file_too_large' as const, max_size_mb: Math.floor(fault.maxBytes / MIB) };
      const isAnnounced = fault.sentBytes !== undefined;
      const sent = isAnnounced ? `has ${fault.sentBytes} bytes, more than` : 'is larger than';
      const message = `The upload ${sent} the ${size.max_size_mb} MiB allowed. Send it compressed, or in parts.`;
      const told = { ...size, message } satisfies UploadTooLarge;
      return { status: 413, body: isAnnounced ? told : size, headers: toErrorHeaders(told) };
    }
    case 'invalid_request':
      return invalid(fault.message, fault.param);
    case 'no_room_for_body':
      return unavailable('service_unavailable', `Too many uploads are on their way right now. ${NOTHING_RAN}`);
    case 'key_bound_reached': {
      const limit = KEY_RATE_MESSAGES[fault.bound]?.(fault.limit ?? 0);
      if (limit !== undefined)
        return flat(
          429,
          'rate_limit_exceeded',
          {
            message: `Limit reached: ${limit}. ${NOTHING_RAN} Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s.`,
            ...docUrl,
          },
          retryAfter(fault.retryAfterSeconds),
        );
      return unavailable(
        'service_unavailable',
        `${KEY_BOUND_MESSAGES[fault.bound] ?? 'This key has as much under way as one key may have.'} ${NOTHING_RAN}`,
        fault.retryAfterSeconds,
      );
    }
    case 'model_not_found':
      return notServed(
        fault.textModel
          ? `${fault.textModel.id} makes no media. Call it at ${fault.textModel.paths.join(' or ')}.`
          : 'There is no such media model here. GET /v1/models lists what this region serves.',
        'model_not_found',
        { param: 'model' },
      );
    case 'model_disabled':
      return failed(
        503,
        'model_deactivated',
        `${fault.model} is switched off by an administrator. Use another model; do not retry.`,
      );
    case 'pricing_unavailable':
      return flat(500, 'pricing_unavailable', {
        message: `There is no price for ${fault.model} right now. ${NOTHING_RAN} It is safe to retry.`,
      });
    case 'catalog_unavailable':
      return unavailable('service_unavailable', `The model catalog is not loaded yet. ${NOTHING_RAN}`);
    case 'model_not_allowed':
      return toModelNotAllowedError(fault);
    case 'account_on_hold':
    case 'billing_not_provisioned':
    case 'spend_cap_reached':
      return flat(402, fault.kind, { message: ACCOUNT_MESSAGES[fault.kind], ...docUrl }, NEVER_RETRY);
    case 'insufficient_balance':
      return {
        status: 402,
        body: {
          error: fault.kind,
          message: toShortfallMessage(fault, 'ask for less'),
          ...toShortfallFields(fault),
          ...docUrl,
        } satisfies MediaBalance,
        headers: NEVER_RETRY,
      };
    case 'rate_limited':
      return flat(
        429,
        'rate_limit_exceeded',
        { message: toRateLimitMessage(fault), ...docUrl },
        { ...toRateLimitHeaders(fault.rateLimit), ...retryAfter(fault.retryAfterMs / 1_000) },
      );
    case 'admission_unavailable':
      return unavailable('service_unavailable', `Balances cannot be checked right now. ${NOTHING_RAN}`);
    case 'spool_unavailable':
      return unavailable('service_unavailable', `Usage cannot be recorded right now. ${NOTHING_RAN}`);
    case 'backend_unavailable':
      return unavailable(
        'backend_unavailable',
        `The model has no free capacity right now. ${NOTHING_RAN} Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s, or send "async": true where it is taken.`,
        fault.retryAfterSeconds,
      );
    case 'transcode_overloaded':
      return unavailable(
        'transcode_overloaded',
        `More audio is being decoded than there is room for. ${NOTHING_RAN}`,
        fault.retryAfterSeconds,
      );
    case 'backend_failed':
      return failed(500, 'generation_failed', JOB_ERROR_MESSAGES.generation_failed);
    case 'backend_refused':
      return fault.param === null
        ? flat(400, 'request_refused', { message: 'The model does not take this request. Nothing was charged.' })
        : invalid(`The model does not take this ${fault.param}. Nothing was charged.`, fault.param);
    case 'content_refused':
      return contentRefused();
    case 'times_unavailable':
      return invalid(
        'The model gives no times, which this response_format has: ask for json or text. Nothing was charged.',
        'response_format',
      );
    case 'storage_unavailable':
      return unavailable('service_unavailable', 'What was made cannot be read right now. Retry with backoff.');
    case 'job_failed':
      return toJobError(fault);
    case 'job_not_found':
      return flat(
        404,
        'job_not_found',
        { message: 'There is no such job of this key. Jobs are kept for 24 hours after their end.' },
        NEVER_RETRY,
      );
    case 'content_not_there':
      return flat(
        404,
        'content_not_found',
        { message: 'The job has nothing there: it is not completed, or has no output of this index.' },
        NEVER_RETRY,
      );
    case 'jobs_unavailable':
      return unavailable('service_unavailable', 'Jobs cannot be looked up right now. Retry with backoff.');
  }
}

const NO_FORM = 'An upload is a form: send Content-Type: multipart/form-data with the recording as its file.';

const contentRefused = (): WireError =>
  flat(400, 'content_refused', { message: JOB_ERROR_MESSAGES.content_refused }, NEVER_RETRY);

/** The synchronous answer of a call whose job failed. */
function toJobError({ code }: JobFault): WireError {
  switch (code) {
    case 'content_refused':
      return contentRefused();
    case 'queue_timeout':
      return failed(503, 'backend_unavailable', JOB_ERROR_MESSAGES.queue_timeout);
    case 'model_deactivated':
      return failed(503, code, JOB_ERROR_MESSAGES[code]);
    case 'storage_unavailable':
      return failed(503, 'service_unavailable', JOB_ERROR_MESSAGES[code]);
    case 'generation_failed':
    case 'invalid_output':
    case 'timed_out':
    case 'backend_lost':
      return failed(500, code, JOB_ERROR_MESSAGES[code]);
  }
}

/** Converts an error of a handler or its guard to the wire format. Returns undefined for faults of other families. */
export const createToWireError =
  (options: AuthErrorOptions) =>
  (error: unknown): WireError | undefined =>
    findWording(error, [
      (fault: CallFault) => toMediaError(fault, options),
      (fault: GuardFault) => toMediaGuardError(fault, options),
    ]);

/** Messages of failed jobs, without any text of an engine. */
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
