import {
  ACCOUNT_MESSAGES,
  toRateLimitMessage,
  toShortfallFields,
  toShortfallMessage,
} from '@turnpike/holds/gate/gateWords';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { type AuthErrorOptions, type GuardFault, toInferenceGuardError } from '@turnpike/public-api/authFault';
import { NEVER_RETRY, retryAfter, toRateLimitHeaders, toWholeSeconds } from '@turnpike/public-api/headers';
import { toModelNotAllowedError } from '@turnpike/public-api/modelNotAllowed';
import {
  envelope,
  failed,
  findWording,
  gateRejection,
  invalid,
  notServed,
  throttled,
  unavailable,
  type WireError,
} from '@turnpike/public-api/wireError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import { type CallFault, type CutFault, MS_PER_TOKEN, type WindowUse } from './inferenceFault.ts';

const KEY_BOUND_MESSAGES: Partial<Record<KeyBoundFault['bound'], string>> = {
  body_memory:
    'Requests of this key take as many bytes as one key may have, or this upload stood still while others needed room.',
  prompt_counts: 'Too many prompts of this key are being counted right now.',
  image_fetches: 'The workspace of this key has as many images on their way as one workspace may have.',
  streams: 'This key has as many calls under way on this model as one key may have.',
};

const CUT_MESSAGES: Record<Exclude<CutFault['by'], 'too_long'>, string> = {
  shutdown: 'The stream was ended because this server shuts down; continue it with a new request.',
  unforeseen: 'The stream was ended by an internal error.',
  tool_calls:
    'The stream was ended because the model called a tool without a name, or more tools than an answer may have.',
};

/** How chat, completions and embeddings word a fault past gate 1. A missing case does not compile. */
export function toInferenceError(fault: CallFault, { keysPageUrl }: AuthErrorOptions): WireError {
  const docUrl = { doc_url: keysPageUrl };
  switch (fault.kind) {
    case 'body_too_large':
      return invalid(
        fault.sentBytes === undefined
          ? `The body is larger than the ${fault.maxBytes} bytes allowed here.`
          : `The body has ${fault.sentBytes} bytes, more than the ${fault.maxBytes} allowed here.`,
      );
    case 'body_text_too_large':
      return invalid(`The body holds more than ${fault.maxBytes} bytes outside inline images.`);
    case 'body_compressed':
      return invalid('Compressed bodies are not accepted. Send the JSON as it is, without Content-Encoding.');
    case 'body_not_json_type':
      return invalid('Send a JSON body with Content-Type: application/json.');
    case 'body_not_utf8':
      return invalid('The body is not valid UTF-8.');
    case 'body_not_json':
      return invalid('The body is not valid JSON.');
    case 'body_not_an_object':
      return invalid('The body must be a JSON object.');
    case 'body_too_deep':
      return invalid(`The body is nested deeper than ${fault.maxDepth} levels.`);
    case 'body_too_many_values':
      return invalid(`The body holds more than ${fault.maxValues} JSON values.`);
    case 'body_too_many_fields':
      return invalid(`The body has more than ${fault.maxFields} fields.`);
    case 'body_object_too_large':
      return invalid(`An object within the body has more than ${fault.maxFields} fields.`);
    case 'body_too_many_dear_keys':
      return invalid(
        `The body has more than ${fault.maxKeys} keys that begin with a digit or hold an escape.`,
        fault.param,
      );
    case 'body_key_repeated':
      return invalid(`A key stands twice in one object${fault.param === null ? '' : `: ${fault.param}`}.`, fault.param);
    case 'body_keys_unreadable':
      return invalid('A key of the body cannot be read: it has an escaped control character. Send it without.');
    case 'body_text_unsendable':
      return invalid(`${fault.param ?? 'The body'} holds ${fault.has}, which no text may.`, fault.param);
    case 'body_too_slow':
      return invalid(`Nothing more of the body came for ${fault.silenceMs / 1_000} s.`);
    case 'body_unfinished':
      return invalid(`The body was not whole after ${fault.wholeMs / 1_000} s.`);
    case 'body_aborted':
      return invalid('The body ended before it was whole.');
    case 'invalid_request':
    case 'engine_refused':
      return invalid(fault.message, fault.param);
    case 'image_unusable':
      return invalid(
        'An image cannot be fetched or decoded. Send a public http(s) URL or a base64 data URL of a PNG, JPEG, WebP or GIF.',
        fault.param ?? 'messages',
      );
    case 'unknown_model':
      return gateRejection(404, {
        error: 'unknown_model',
        message: 'No such model here. GET /v1/models lists what this region serves.',
        did_you_mean: fault.didYouMean,
        ...(fault.suggestedModel !== undefined && { suggested_model: fault.suggestedModel }),
      });
    case 'model_without_capacity':
      return notServed(
        `${fault.model} has no capacity in this region. GET /v1/models lists what is served.`,
        'model_deactivated',
        { param: 'model' },
      );
    case 'model_disabled':
      return envelope(
        503,
        {
          message: `${fault.model} is switched off by an administrator. Use another model; do not retry.`,
          type: 'service_unavailable',
          param: 'model',
          code: 'model_deactivated',
        },
        NEVER_RETRY,
      );
    case 'model_not_allowed':
      return toModelNotAllowedError(fault);
    case 'account_on_hold':
    case 'billing_not_provisioned':
    case 'spend_cap_reached':
      return gateRejection(402, { error: fault.kind, message: ACCOUNT_MESSAGES[fault.kind], ...docUrl });
    case 'insufficient_balance': {
      const { affordableOutputTokens: tokens } = fault;
      return gateRejection(402, {
        error: fault.kind,
        message: toShortfallMessage(fault, tokens > 0 ? `ask for at most ${tokens} output tokens` : undefined),
        ...toShortfallFields(fault),
        affordable_output_tokens: tokens,
        ...docUrl,
      });
    }
    case 'rate_limited':
      return throttled(
        toRateLimitMessage(fault),
        { ...toRateLimitHeaders(fault.rateLimit), ...retryAfter(fault.retryAfterMs / 1_000) },
        docUrl,
      );
    case 'admission_unavailable':
      return unavailable('Balances cannot be checked right now, so nothing was run or charged. Retry with backoff.');
    case 'spool_unavailable':
      return unavailable('Usage cannot be recorded right now, so nothing was run or charged. Retry with backoff.');
    case 'catalog_unavailable':
      return unavailable('The model catalog is not loaded yet. Retry with backoff.');
    case 'no_room_for_body':
      return unavailable(
        'Too many large requests are being served right now. Nothing was run or charged. Retry with backoff.',
      );
    case 'no_room_for_answer':
      return unavailable(
        'Too many large answers are on their way right now. Nothing was charged. Retry with backoff, or stream the answer.',
      );
    case 'key_bound_reached':
      if (fault.bound === 'refused_bodies')
        return throttled(
          `Too much of what this key sends is refused. Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s.`,
          retryAfter(fault.retryAfterSeconds),
          docUrl,
        );
      if (fault.bound === 'token_counts')
        return throttled(
          `Rate limit reached: ${fault.limit} bytes of counted prompts per minute for this key. Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s.`,
          retryAfter(fault.retryAfterSeconds),
          docUrl,
        );
      return unavailable(
        `${KEY_BOUND_MESSAGES[fault.bound] ?? 'This key has as much under way as one key may have.'} Nothing was run or charged. Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s.`,
        retryAfter(fault.retryAfterSeconds),
      );
    case 'no_healthy_engine':
    case 'engine_busy':
      return unavailable('The model has no free capacity right now. Nothing was charged. Retry with backoff.');
    case 'overloaded':
      return unavailable(
        `More calls want the model right now than it can serve. Nothing was run or charged. Retry in ${toWholeSeconds(fault.retryAfterSeconds)} s.`,
        retryAfter(fault.retryAfterSeconds),
      );
    case 'engine_failed':
      return failed('The model failed to answer. Nothing was charged.', NEVER_RETRY);
    case 'stream_cut':
      return envelope(
        500,
        {
          message: `${toCutMessage(fault)} ${toChargedMessage(fault)}`,
          type: 'server_error',
          param: null,
          code: fault.kind,
        },
        NEVER_RETRY,
      );
    case 'ending_not_kept':
      return failed('The answer could not be recorded, so it is withheld. It may still be charged.', NEVER_RETRY);
    case 'context_too_long':
      return envelope(400, {
        message: toContextMessage(fault),
        type: null,
        param: null,
        code: 'context_length_exceeded',
      });
    case 'forced_tool_not_called':
      return invalid(
        'The model called no tool although tool_choice demands one. Use tool_choice auto, or a model with forced-tool support.',
        'tool_choice',
      );
  }
}

function toContextMessage({ message, window }: Extract<CallFault, { kind: 'context_too_long' }>): string {
  // Agents of the Messages API compact a conversation by this sentence. One token is left for the output.
  if (window?.isOutputFitted && window.prompt && window.prompt.tokens >= window.windowTokens)
    return `prompt is too long: ${window.prompt.tokens} tokens > ${window.windowTokens - 1} maximum`;
  return `ContextWindowExceededError: ${message}${window ? ` ${toWindowMessage(window)}` : ''}`;
}

function toWindowMessage({ model, windowTokens, prompt }: WindowUse): string {
  if (!prompt) return `${model} takes ${windowTokens} tokens in each text.`;
  const tokens = `${prompt.isCounted ? '' : 'about '}${prompt.tokens}`;
  return `${model} takes ${windowTokens} tokens in all: the prompt has ${tokens}, and ${prompt.outputTokens} are asked for.`;
}

const toCutMessage = ({ by, afterMs }: CutFault): string =>
  by === 'too_long'
    ? `The stream was ended after ${Math.round(afterMs / 1_000)} s, because fewer than ${1_000 / MS_PER_TOKEN} tokens a second came or were read; read it faster, or ask for fewer tokens.`
    : CUT_MESSAGES[by];

const toChargedMessage = ({ charged }: CutFault): string =>
  charged
    ? `The prompt and the ${charged.completionTokens} output tokens so far are charged: ${toUsdText(charged.chargeNanoUsd)} USD.`
    : 'Nothing was charged.';

/** Converts an error of a handler or its guard to the wire format. Returns undefined for faults of other families. */
export const createToWireError =
  (options: AuthErrorOptions) =>
  (error: unknown): WireError | undefined =>
    findWording(error, [
      (fault: CallFault) => toInferenceError(fault, options),
      (fault: GuardFault) => toInferenceGuardError(fault, options),
    ]);
