import { join } from 'node:path';
import { repositoryRoot } from '../repositoryRoot.ts';
import type { JsonSchema } from './jsonSchema.ts';
import { toJsonSchemas } from './jsonSchemas.ts';
import type { Methods } from './operation.ts';
import { PATHS } from './operations.ts';
import {
  COUNT_RESPONSES,
  MESSAGES_RESPONSES,
  RESPONSES_RESPONSES,
  type ResponseObject,
  SHARED_RESPONSES,
} from './responses.ts';

export const OPENAPI_FILE = join(repositoryRoot, 'docs/openapi.json');

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: object[];
  security: object[];
  tags: object[];
  paths: Record<string, Methods>;
  components: {
    securitySchemes: object;
    responses: Record<string, ResponseObject>;
    schemas: Record<string, JsonSchema>;
  };
}

const DESCRIPTION = [
  'Inference for text, code, reasoning, vision, embedding, image, audio and video models, compatible with a widely used public chat API. To use a client for that API, change the base address and the model.',
  'Branch on the HTTP status. Statuses are stable; the bodies of errors are for people and may change. There are no idempotency keys.',
  'In `/v1/svc/…` the segment `svc` is the service’s own name, which an installation may change. Call the API from servers, because responses have no CORS headers.',
  '`x-support` is present on a field that is not fully supported, and `x-support-note` has the details.',
].join('\n\n');

/** The interface description, version 1.0.0, from the schemas that the services run on. */
export function toOpenApiDocument(): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: { title: 'Turnpike', version: '1.0.0', description: DESCRIPTION },
    servers: [
      {
        url: '{base_url}',
        description: 'The host of the key’s region. The other region’s host refuses the key.',
        variables: {
          base_url: { default: 'http://127.0.0.1:8080', description: 'Address of the region, without `/v1`.' },
        },
      },
    ],
    security: [{ apiKey: [] }],
    tags: [
      {
        name: 'Inference',
        description: 'Chat, text completion, embeddings. The maximum cost of each call is held before it runs.',
      },
      {
        name: 'Media',
        description:
          'Images, videos, speech and speech-to-text, in the response or as jobs that are stored for 24 hours. The measured output is charged, once.',
      },
      { name: 'Models', description: 'The models of the region.' },
      { name: 'Account', description: 'The calling key: limits, credit, usage and cost.' },
    ],
    paths: PATHS,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: '`Authorization: Bearer sk-…`, on every path.' },
        messagesKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same key, on the paths of the Messages API alone.',
        },
      },
      responses: { ...SHARED_RESPONSES, ...RESPONSES_RESPONSES, ...MESSAGES_RESPONSES, ...COUNT_RESPONSES },
      schemas: toJsonSchemas(),
    },
  };
}

export const renderOpenApi = (): string => `${JSON.stringify(toOpenApiDocument(), null, 2)}\n`;
