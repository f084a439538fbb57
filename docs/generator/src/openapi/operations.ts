import { type HeaderName, KEY_LIMIT_HEADERS } from '@turnpike/public-api/headers';
import { EXAMPLES } from './examples.ts';
import { toHeaders } from './headers.ts';
import type { JsonSchema } from './jsonSchema.ts';
import { refTo, type SchemaName } from './jsonSchemas.ts';
import { MEDIA_PATHS } from './mediaOperations.ts';
import { type Errors, jsonAnswer, jsonBody, type Methods, type Parameter, refsTo } from './operation.ts';
import type { ResponseObject } from './responses.ts';

const INFERENCE_ERRORS: Errors = {
  400: 'InferenceInvalid',
  401: 'InferenceUnauthorized',
  402: 'InferenceBalance',
  403: 'InferenceForbidden',
  404: 'InferenceUnknownModel',
  405: 'MethodNotAllowed',
  429: 'InferenceThrottled',
  500: 'InferenceFailure',
  503: 'InferenceUnavailable',
};
const MODELS_ERRORS: Errors = {
  401: 'ModelsUnauthorized',
  403: 'ModelsForbidden',
  405: 'MethodNotAllowed',
  429: 'ModelsThrottled',
  502: 'AuthUnreachable',
};
const KEY_ERRORS: Errors = {
  401: 'LookUpUnauthorized',
  405: 'MethodNotAllowed',
  429: 'LookUpThrottled',
  502: 'AuthUnreachable',
  503: 'KeyUnavailable',
};
const USAGE_ERRORS: Errors = {
  401: 'LookUpUnauthorized',
  405: 'MethodNotAllowed',
  429: 'LookUpThrottled',
  503: 'UsageUnavailable',
  504: 'UsageTimeout',
};

/** The same errors in the form of the Messages API. */
const messagesErrors = (errors: Errors, prefix = 'Messages') =>
  Object.fromEntries(
    Object.entries(errors).map(([status, name]) => [
      status,
      { $ref: `#/components/responses/${prefix}${name.replace('Inference', '')}` },
    ]),
  );

/** The errors of the Responses API, which words the refusals of gates in its own way. */
const RESPONSES_ERRORS = {
  ...refsTo(INFERENCE_ERRORS),
  402: { $ref: '#/components/responses/ResponsesBalance' },
  403: { $ref: '#/components/responses/ResponsesForbidden' },
  404: { $ref: '#/components/responses/ResponsesUnknownModel' },
};

/** A count of tokens costs nothing. */
const { 402: _balance, ...COUNT_ERRORS } = INFERENCE_ERRORS;

/** On every answer of an engine. */
const CALL_HEADERS: HeaderName[] = ['x-router-call-id', ...KEY_LIMIT_HEADERS];

/** A whole answer, or where `stream` is true its events, each checked against `chunk` or an error. */
function toGeneratedAnswer(
  { whole, chunk }: { whole: SchemaName; chunk: SchemaName },
  { answer, events }: { answer: unknown; events: string },
  ...sometimes: HeaderName[]
): ResponseObject {
  const description =
    'The JSON of each `data:` line. The last one of a complete stream is `[DONE]`. A failed stream ends in an error and has no `[DONE]`. Comment lines may come between.';
  return toAnswer(whole, { description, anyOf: [refTo(chunk), refTo('ErrorEnvelope')] }, { answer, events }, sometimes);
}

/** The same where each event has a name, and the last one is one of its own. */
function toNamedAnswer(
  { whole, event, last }: { whole: SchemaName; event: SchemaName; last: string },
  { answer, events }: { answer: unknown; events: string },
  ...always: HeaderName[]
): ResponseObject {
  const schema = { description: `The JSON of each \`data:\` line. ${last}`, anyOf: [refTo(event)] };
  const named = toAnswer(whole, schema, { answer, events }, ['x-response-format']);
  return { ...named, headers: { ...named.headers, ...toHeaders({ always }) } };
}

const toAnswer = (
  whole: SchemaName,
  schema: JsonSchema,
  { answer, events }: { answer: unknown; events: string },
  sometimes: HeaderName[],
): ResponseObject => ({
  description: 'The response, or with `stream` its server-sent events.',
  headers: toHeaders({ always: CALL_HEADERS, sometimes: ['x-accel-buffering', ...sometimes] }),
  content: {
    'application/json': { schema: refTo(whole), example: answer },
    'text/event-stream': { schema, example: events },
  },
});

const instantParameter = (name: string, description: string): Parameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'string' },
});

/** Either scheme. */
const KEY_IN_EITHER = [{ apiKey: [] }, { messagesKey: [] }];

/** Every path that clients may call, its methods, and what they do. Nothing else is served. */
export const PATHS: Record<string, Methods> = {
  '/v1/chat/completions': {
    post: {
      operationId: 'createChatCompletion',
      tags: ['Inference'],
      summary: 'Create a chat completion',
      description:
        'With or without streaming. Tools, JSON output and images work on models that take them. The maximum cost is held before the call runs, and becomes the true charge when it ends.',
      requestBody: jsonBody('ChatRequest', EXAMPLES.createChatCompletion.request),
      responses: {
        200: toGeneratedAnswer(
          { whole: 'ChatCompletion', chunk: 'ChatChunk' },
          EXAMPLES.createChatCompletion,
          'x-response-format',
        ),
        ...refsTo(INFERENCE_ERRORS),
      },
    },
  },
  '/v1/responses': {
    post: {
      operationId: 'createResponse',
      tags: ['Inference'],
      summary: 'Create a response (Responses API)',
      description:
        'A chat in the Responses API, for agents that use it: the same checks, the same price, the same record. Nothing is stored, so each request has the whole conversation.',
      requestBody: jsonBody('ResponsesRequest', EXAMPLES.createResponse.request),
      responses: {
        200: toNamedAnswer(
          {
            whole: 'Response',
            event: 'ResponseEvent',
            last: 'The last one is `response.completed`, `response.incomplete` or `response.failed`.',
          },
          EXAMPLES.createResponse,
        ),
        ...RESPONSES_ERRORS,
      },
    },
  },
  '/v1/messages': {
    post: {
      operationId: 'createMessage',
      tags: ['Inference'],
      summary: 'Create a message (Messages API)',
      description:
        'A chat in the Messages API, for agents that use it: the same checks, the same price, the same record. The key may be in `x-api-key` instead of `Authorization`.',
      security: KEY_IN_EITHER,
      requestBody: jsonBody('MessagesRequest', EXAMPLES.createMessage.request),
      responses: {
        200: toNamedAnswer(
          { whole: 'Message', event: 'MessageEvent', last: 'The last one is `message_stop` or `error`.' },
          EXAMPLES.createMessage,
          'request-id',
        ),
        ...messagesErrors(INFERENCE_ERRORS),
      },
    },
  },
  '/v1/messages/count_tokens': {
    post: {
      operationId: 'countMessageTokens',
      tags: ['Inference'],
      summary: 'Count the tokens of a prompt',
      description: 'Nothing runs and nothing is charged. Images given by URL are not counted.',
      security: KEY_IN_EITHER,
      requestBody: jsonBody('CountTokensRequest', EXAMPLES.countMessageTokens.request),
      responses: {
        200: {
          ...jsonAnswer('The count.', 'TokenCount', EXAMPLES.countMessageTokens.answer),
          headers: toHeaders({ always: ['request-id'] }),
        },
        ...messagesErrors(COUNT_ERRORS, 'Count'),
      },
    },
  },
  '/v1/completions': {
    post: {
      operationId: 'createCompletion',
      tags: ['Inference'],
      summary: 'Create a text completion',
      description: 'For old clients; prefer chat. Without `max_tokens` a response has 16 tokens at most.',
      requestBody: jsonBody('CompletionRequest', EXAMPLES.createCompletion.request),
      responses: {
        200: toGeneratedAnswer({ whole: 'TextCompletion', chunk: 'TextChunk' }, EXAMPLES.createCompletion),
        ...refsTo(INFERENCE_ERRORS),
      },
    },
  },
  '/v1/embeddings': {
    post: {
      operationId: 'createEmbedding',
      tags: ['Inference'],
      summary: 'Create embeddings',
      description: 'One text, or up to 2048.',
      requestBody: jsonBody('EmbeddingRequest', EXAMPLES.createEmbedding.request),
      responses: {
        200: {
          ...jsonAnswer('One vector for each text.', 'Embeddings', EXAMPLES.createEmbedding.answer),
          headers: toHeaders({ always: CALL_HEADERS }),
        },
        ...refsTo(INFERENCE_ERRORS),
      },
    },
  },
  ...MEDIA_PATHS,
  '/v1/models': {
    get: {
      operationId: 'listModels',
      tags: ['Models'],
      summary: 'List models',
      description: 'The models of the region of this host. The list changes rarely, so keep a copy.',
      responses: {
        200: jsonAnswer('Every live model.', 'ModelList', EXAMPLES.listModels.answer),
        ...refsTo(MODELS_ERRORS),
      },
    },
  },
  '/v1/models/{id}': {
    get: {
      operationId: 'getModel',
      tags: ['Models'],
      summary: 'Get a model',
      description: 'An entry of the list.',
      parameters: [
        {
          name: 'id',
          in: 'path',
          required: true,
          description: 'Any name that requests may use. Slashes in it are not encoded.',
          schema: { type: 'string' },
        },
      ],
      responses: {
        200: jsonAnswer('The model.', 'Model', EXAMPLES.getModel.answer),
        ...refsTo({ ...MODELS_ERRORS, 404: 'NotFound' }),
      },
    },
  },
  '/v1/svc/key': {
    get: {
      operationId: 'getKey',
      tags: ['Account'],
      summary: 'Get the calling key',
      description: 'Its limits and the rest of its budget. It works without credit too.',
      responses: {
        200: jsonAnswer('The key.', 'KeyInformation', EXAMPLES.getKey.answer),
        ...refsTo(KEY_ERRORS),
      },
    },
  },
  '/v1/svc/credit': {
    get: {
      operationId: 'getCredit',
      tags: ['Account'],
      summary: 'Get the remaining credit',
      description: 'The balance of the workspace, or the budget of a key that has one. It works without credit too.',
      responses: {
        200: jsonAnswer('The credit.', 'CreditInformation', EXAMPLES.getCredit.answer),
        ...refsTo(KEY_ERRORS),
      },
    },
  },
  '/v1/svc/usage': {
    get: {
      operationId: 'getUsage',
      tags: ['Account'],
      summary: 'Get usage of the calling key',
      description:
        'For a range of whole hours, 366 days at most, in total and by group. A call counts in the hour in which it was admitted. The records of single calls add up to `totals`.',
      parameters: [
        instantParameter(
          'start',
          'First hour that counts: a date, or an RFC 3339 instant on a whole hour in UTC. The default is the start of this month.',
        ),
        instantParameter(
          'end',
          'First hour that no longer counts, in the same form. The default is the end of this month.',
        ),
        {
          name: 'group_by',
          in: 'query',
          required: false,
          description: 'Groups for the rows of `data`, separated by commas. Without it there is one row for all calls.',
          schema: {
            type: 'array',
            items: { type: 'string', enum: ['model', 'day', 'hour', 'modality'] },
            uniqueItems: true,
          },
          explode: false,
        },
      ],
      responses: {
        200: jsonAnswer('The sums.', 'UsageSummary', EXAMPLES.getUsage.answer),
        ...refsTo({ ...USAGE_ERRORS, 400: 'UsageInvalid' }),
      },
    },
  },
  '/v1/svc/usage/request/{request_id}': {
    get: {
      operationId: 'getUsageRequest',
      tags: ['Account'],
      summary: 'Get usage of one call',
      description:
        'Only the key that made the call can read the record. It appears within two seconds of the end of the call.',
      parameters: [
        {
          name: 'request_id',
          in: 'path',
          required: true,
          description: 'The `x-router-call-id` of the response.',
          schema: { type: 'string' },
        },
      ],
      responses: {
        200: jsonAnswer('The record.', 'UsageRecord', EXAMPLES.getUsageRequest.answer),
        ...refsTo({ ...USAGE_ERRORS, 404: 'UsageNotFound' }),
      },
    },
  },
};
