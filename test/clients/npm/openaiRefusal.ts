import type { APIError } from 'openai';
import type { Refusal } from '../order.ts';

/** Returns the refusal in an error of the `openai` package. LangChain lets these errors pass. */
export function toOpenaiRefusal(raised: APIError): Refusal {
  const { status, message, headers, error } = raised;
  const { provider_specific_fields: fields } = (error ?? {}) as {
    provider_specific_fields?: { did_you_mean?: string[] };
  };
  const retryAfter = headers?.get('retry-after');
  const sentence = headers?.get('x-error-message');
  const param = headers?.get('x-error-param');
  return {
    errorName: raised.constructor.name,
    message,
    ...(status !== undefined && { status }),
    ...(sentence && { sentence }),
    ...(param && { param }),
    ...(retryAfter && { retryAfter }),
    ...(fields?.did_you_mean && { didYouMean: fields.did_you_mean }),
  };
}
