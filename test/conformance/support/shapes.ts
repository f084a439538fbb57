import { expect } from '@jest/globals';

/** An image of one pixel, inline. */
export const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBgGAWjR9awAAAABJRU5ErkJggg==';

const aText = () => expect.stringMatching(/./);

/** Envelope of a request that cannot be served (400). */
export const invalid = (param: unknown) => ({
  error: { message: aText(), type: 'invalid_request_error', param, code: null },
});

/** 400 of a text that a window of 8,192 tokens does not hold, in the engine's words. */
export const tooLong = () => ({
  error: {
    message: expect.stringMatching(/^ContextWindowExceededError: .*8192/),
    type: null,
    param: null,
    code: 'context_length_exceeded',
  },
});

/** Wrapped gate rejection: the bare code as message, texts `None`, the status as text, what helps beside them. */
export const wrapped = (status: number, message: string, fields: object = {}) => ({
  error: {
    message,
    type: 'None',
    param: 'None',
    code: String(status),
    provider_specific_fields: expect.objectContaining(fields),
  },
});

/** The link in a 401, a 402 and a key's own 429. */
export const DOC_URL = { doc_url: expect.stringMatching(/^https?:\/\//) };

/** Envelope of the inference family with its `code`. */
export const envelope = (type: string, code: string, fields: object = {}) => ({
  error: { message: aText(), type, param: null, code, ...fields },
});

/** 401 of chat, completions and embeddings, and of a bad key on look-ups. */
export const badKey = () => envelope('authentication_error', 'invalid_api_key', DOC_URL);

/** `GET /v1/models`: an envelope without a code. */
export const withoutCode = (type: string, fields: object = {}) => ({ error: { message: aText(), type, ...fields } });

/** `{error: "<code>", …}` with its explanation at the top. */
export const flat = (error: string, fields: object = {}) => ({ error, message: aText(), ...fields });

/** `{detail}` and nothing else. */
export const bare = () => ({ detail: aText() });
