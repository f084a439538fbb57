import { type HeaderName, KEY_LIMIT_HEADERS } from '@turnpike/public-api/headers';
import { EXAMPLES } from './examples.ts';
import { toHeaders } from './headers.ts';
import { refTo, type SchemaName } from './jsonSchemas.ts';
import { type Errors, jsonBody, type Methods, type Operation, type Parameter, refsTo } from './operation.ts';
import type { ResponseObject } from './responses.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'multipart/form-data';
const EVENTS_TYPE = 'text/event-stream';

const CALL_ERRORS: Errors = {
  400: 'MediaMalformed',
  401: 'MediaUnauthorized',
  402: 'MediaBalance',
  403: 'MediaForbidden',
  404: 'MediaUnknownModel',
  405: 'MethodNotAllowed',
  422: 'MediaInvalid',
  429: 'MediaThrottled',
  500: 'MediaFailure',
  503: 'MediaUnavailable',
};
const UPLOAD_ERRORS: Errors = { ...CALL_ERRORS, 413: 'UploadTooLarge', 422: 'UploadInvalid' };
const LOOK_UP_ERRORS: Errors = {
  401: 'MediaUnauthorized',
  403: 'MediaForbidden',
  404: 'JobNotFound',
  405: 'MethodNotAllowed',
  429: 'LookUpThrottled',
  500: 'MediaFailure',
  503: 'MediaLookUpUnavailable',
};

const tags = ['Media'];
const CALL_HEADERS: HeaderName[] = [...KEY_LIMIT_HEADERS];
const POLL_HEADERS: HeaderName[] = ['openai-poll-after-ms', 'retry-after'];

const ID: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The job’s id.',
  schema: { type: 'string' },
};
const WAIT =
  'With `Prefer: wait=N` the response waits for a change, at most N seconds and at most 30. Until the job ends, `openai-poll-after-ms` and `Retry-After` have the time of the next poll.';

type Shown = SchemaName | 'bytes' | 'text';

/** Answers with bytes, or with JSON that has been named elsewhere. */
function toAnswer(
  description: string,
  content: Record<string, Shown>,
  { example, ...headers }: { example?: unknown; always?: HeaderName[]; sometimes?: HeaderName[] } = {},
): ResponseObject {
  const entries = Object.entries(content).map(([type, schema]) => {
    const isRef = schema !== 'bytes' && schema !== 'text';
    if (!isRef) return [type, { schema: { type: 'string', ...(schema === 'bytes' && { format: 'binary' }) } }] as const;
    return [type, { schema: refTo(schema), ...(type === JSON_TYPE && example !== undefined && { example }) }] as const;
  });
  return { description, headers: toHeaders(headers), content: Object.fromEntries(entries) };
}

const formBody = (schema: SchemaName) => ({
  required: true as const,
  content: { [FORM_TYPE]: { schema: refTo(schema), example: EXAMPLES.createTranscription.request } },
});

const ACCEPTED = toAnswer(
  'With `async`: the job.',
  { [JSON_TYPE]: 'MediaJob' },
  { example: EXAMPLES.getImageJob.waiting, sometimes: [...CALL_HEADERS, ...POLL_HEADERS] },
);

const TRANSCRIPT_TYPES = { 'text/plain': 'text', 'application/x-subrip': 'text', 'text/vtt': 'text' } as const;
const SPEECH_TYPES = {
  'audio/mpeg': 'bytes',
  'audio/ogg': 'bytes',
  'audio/aac': 'bytes',
  'audio/flac': 'bytes',
  'audio/wav': 'bytes',
  'audio/pcm': 'bytes',
} as const;
const IMAGE_TYPES = { 'image/png': 'bytes', 'image/jpeg': 'bytes', 'image/webp': 'bytes' } as const;

const TRANSCRIPT = toAnswer(
  'The transcript in the format that was asked for; with `stream`, as server-sent events.',
  { [JSON_TYPE]: 'AnyTranscription', ...TRANSCRIPT_TYPES, [EVENTS_TYPE]: 'TranscriptEvent' },
  {
    example: EXAMPLES.createTranscription.answer,
    sometimes: ['x-total-spend', 'x-content-type-options', 'x-accel-buffering', ...CALL_HEADERS],
  },
);

const lookUp = (operationId: string, summary: string, description: string, answer: ResponseObject): Operation => ({
  operationId,
  tags,
  summary,
  description,
  parameters: [ID],
  responses: { 200: answer, ...refsTo(LOOK_UP_ERRORS) },
});

const getJob = (operationId: string, of: string): Operation =>
  lookUp(
    operationId,
    `Get a job of ${of}`,
    WAIT,
    toAnswer(
      'The job.',
      { [JSON_TYPE]: 'MediaJob' },
      { example: EXAMPLES.getImageJob.answer, sometimes: POLL_HEADERS },
    ),
  );

const deleteJob = (operationId: string, of: string): Operation =>
  lookUp(
    operationId,
    `Delete ${of}`,
    'A job that has not ended is cancelled and costs nothing. A finished one is removed with its outputs; its charge stays.',
    toAnswer('It is gone.', { [JSON_TYPE]: 'DeletedJob' }, { example: EXAMPLES.deleteVideo.answer }),
  );

/** `Range` is heeded: a part is 206. */
const getContent = (
  operationId: string,
  {
    of,
    types,
    example,
    parameters = [],
  }: { of: string; types: Record<string, Shown>; example?: unknown; parameters?: Parameter[] },
): Operation => ({
  operationId,
  tags,
  summary: `Download ${of}`,
  description:
    'The whole output, or the one range in `Range`. A range that cannot be satisfied is ignored. Only the key that made the job can download it.',
  parameters: [ID, ...parameters],
  responses: {
    200: toAnswer('All of it.', types, { example, sometimes: ['x-content-type-options'] }),
    206: toAnswer('The requested range.', types, { example, sometimes: ['x-content-type-options'] }),
    ...refsTo({ ...LOOK_UP_ERRORS, ...(parameters.length > 0 && { 422: 'MediaInvalid' as const }) }),
  },
});

const query = (name: string, description: string, schema: Parameter['schema']): Parameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

/** Operations of media. An unknown field of a request is refused. */
export const MEDIA_PATHS: Record<string, Methods> = {
  '/v1/images/generations': {
    post: {
      operationId: 'createImages',
      tags,
      summary: 'Create images',
      description:
        'In the response, or with `async` as a job. The maximum cost is held first; the images that were made are charged, even if the client disconnects.',
      requestBody: jsonBody('ImageRequest', EXAMPLES.createImages.request),
      responses: {
        200: toAnswer(
          'The images as base64 or URLs; with `stream` as server-sent events.',
          { [JSON_TYPE]: 'Images', [EVENTS_TYPE]: 'ImageEvent' },
          {
            example: EXAMPLES.createImages.answer,
            sometimes: ['x-content-type-options', 'x-accel-buffering', ...CALL_HEADERS],
          },
        ),
        202: ACCEPTED,
        ...refsTo(CALL_ERRORS),
      },
    },
  },
  '/v1/images/jobs/{id}': {
    get: getJob('getImageJob', 'images'),
    delete: deleteJob('deleteImageJob', 'a job of images'),
  },
  '/v1/images/jobs/{id}/content': {
    get: getContent('getImageContent', {
      of: 'an image of a job',
      types: IMAGE_TYPES,
      parameters: [
        query('index', 'Index of the image, from 0 (default).', { type: 'integer', minimum: 0, maximum: 9 }),
      ],
    }),
  },
  '/v1/videos': {
    post: {
      operationId: 'createVideo',
      tags,
      summary: 'Create a video job',
      description: 'A form or JSON. The seconds that were made are charged, and never more than the request has.',
      requestBody: {
        required: true,
        content: {
          [JSON_TYPE]: { schema: refTo('VideoRequest'), example: EXAMPLES.createVideo.request },
          [FORM_TYPE]: { schema: refTo('VideoRequest'), example: EXAMPLES.createVideo.request },
        },
      },
      responses: {
        200: toAnswer(
          'The job.',
          { [JSON_TYPE]: 'Video' },
          { example: EXAMPLES.createVideo.answer, sometimes: [...CALL_HEADERS, ...POLL_HEADERS] },
        ),
        ...refsTo(CALL_ERRORS),
      },
    },
    get: {
      operationId: 'listVideos',
      tags,
      summary: 'List videos of the calling key',
      description: 'The stored videos, in pages.',
      parameters: [
        query('after', 'The `last_id` of the page before.', { type: 'string' }),
        query('limit', 'Videos in the page, 20 by default.', { type: 'integer', minimum: 1, maximum: 100 }),
        query('order', 'Order by creation; newest first by default.', { type: 'string', enum: ['asc', 'desc'] }),
      ],
      responses: {
        200: toAnswer('A page.', { [JSON_TYPE]: 'VideoList' }, { example: EXAMPLES.listVideos.answer }),
        ...refsTo({
          401: 'MediaUnauthorized',
          403: 'MediaForbidden',
          405: 'MethodNotAllowed',
          422: 'MediaInvalid',
          429: 'LookUpThrottled',
          500: 'MediaFailure',
          503: 'MediaLookUpUnavailable',
        }),
      },
    },
  },
  '/v1/videos/{id}': {
    get: lookUp(
      'getVideo',
      'Get a video or its job',
      WAIT,
      toAnswer(
        'The video.',
        { [JSON_TYPE]: 'Video' },
        { example: EXAMPLES.createVideo.answer, sometimes: POLL_HEADERS },
      ),
    ),
    delete: deleteJob('deleteVideo', 'a video'),
  },
  '/v1/videos/{id}/content': {
    get: getContent('getVideoContent', {
      of: 'a video',
      types: { 'video/mp4': 'bytes' },
      parameters: [query('variant', 'Only the video itself.', { type: 'string', enum: ['video'] })],
    }),
  },
  '/v1/audio/speech': {
    post: {
      operationId: 'createSpeech',
      tags,
      summary: 'Create speech',
      description:
        'Streamed while it is made, or with `async` as a job. The characters of `input` are charged once the first byte of audio goes out.',
      requestBody: jsonBody('SpeechRequest', EXAMPLES.createSpeech.request),
      responses: {
        200: toAnswer(
          'The audio as it comes; with `stream_format` `sse` as server-sent events.',
          { ...SPEECH_TYPES, [EVENTS_TYPE]: 'SpeechEvent' },
          { sometimes: ['x-total-spend', 'x-content-type-options', 'x-accel-buffering', ...CALL_HEADERS] },
        ),
        202: ACCEPTED,
        ...refsTo(CALL_ERRORS),
      },
    },
  },
  '/v1/audio/transcriptions': {
    post: {
      operationId: 'createTranscription',
      tags,
      summary: 'Create a transcription',
      description: 'In the response, or with `async` as a job. The decoded seconds are charged, rounded up.',
      requestBody: formBody('TranscriptionRequest'),
      responses: { 200: TRANSCRIPT, 202: ACCEPTED, ...refsTo(UPLOAD_ERRORS) },
    },
  },
  '/v1/audio/translations': {
    post: {
      operationId: 'createTranslation',
      tags,
      summary: 'Create an English translation',
      description: 'In the response, or with `async` as a job. The decoded seconds are charged, rounded up.',
      requestBody: formBody('TranslationRequest'),
      responses: { 200: TRANSCRIPT, 202: ACCEPTED, ...refsTo(UPLOAD_ERRORS) },
    },
  },
  '/v1/audio/jobs/{id}': {
    get: getJob('getAudioJob', 'audio'),
    delete: deleteJob('deleteAudioJob', 'a job of audio'),
  },
  '/v1/audio/jobs/{id}/content': {
    get: getContent('getAudioContent', {
      of: 'the speech or transcript of a job',
      types: { ...SPEECH_TYPES, ...TRANSCRIPT_TYPES, [JSON_TYPE]: 'AnyTranscription' },
      example: EXAMPLES.createTranscription.answer,
    }),
  },
};
