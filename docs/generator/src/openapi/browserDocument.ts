import type { ApiRoute, FaultWording } from '@turnpike/internal-api/internalApi';
import { z } from 'zod';
import { type JsonSchema, tidySchema } from './jsonSchema.ts';

/** An API for browsers, as far as its routes do not declare it. */
export interface BrowserApi {
  title: string;
  description: string;
  server: { url: string; description: string; variables: object };
  securitySchemes: object;
  routes: DescribedRoute[];
}

export interface DescribedRoute {
  name: string;
  route: ApiRoute & { status?: number };
  /** The callers. */
  description: string;
  security: object[];
  /** Headers of the answer beside those of every answer. */
  headers?: object;
  /** Refusals that the route does not declare. Those of the reader of requests come by themselves. */
  refusals: Record<string, FaultWording>;
}

const NOT_FOUND = { not_found: { status: 404, message: 'There is nothing at this path.' } };
const INVALID_REQUEST = { status: 400, message: 'A parameter or the body is not what this route takes.' };

export const toHeader = (description: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' },
});
const HEADERS = {
  'x-request-id': toHeader('Names the request.'),
  'x-content-type-options': toHeader('`nosniff`.'),
};
const ERROR_HEADERS = {
  ...HEADERS,
  'x-error-message': toHeader('The message of the body.'),
  'x-error-param': toHeader('The `param` of the body, where it has one.', false),
};

/** Writes the interface description of an API for browsers, from the declarations of its routes. */
export function renderBrowserDocument({ title, description, server, securitySchemes, routes }: BrowserApi): string {
  const paths: Record<string, Record<string, object>> = {};
  for (const described of routes) {
    const { method, path } = described.route;
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [method.toLowerCase()]: toOperation(described) };
  }
  const document = {
    openapi: '3.1.1',
    info: { title, version: '1.0.0', description },
    servers: [server],
    paths,
    components: {
      securitySchemes,
      responses: { NotFound: toErrorResponse(NOT_FOUND) },
      schemas: {
        Error: {
          type: 'object',
          description: 'A refusal.',
          properties: {
            error: { type: 'string', description: 'A bare code.' },
            message: { type: 'string', description: 'For people.' },
            param: { type: 'string', description: 'The field that is wrong.' },
          },
          required: ['error', 'message'],
          additionalProperties: false,
        },
      },
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function toOperation({ name, route, description, security, headers, refusals }: DescribedRoute): object {
  const { path, promise, params, body, answer, status = 200, faults = {} } = route;
  const all = {
    ...((params || body) && { invalid_request: INVALID_REQUEST }),
    ...(path.includes(':') && NOT_FOUND),
    ...refusals,
    ...faults,
  };
  return {
    operationId: name,
    summary: promise,
    description,
    security,
    ...(params && { parameters: toParameters(path, params) }),
    ...(body && { requestBody: { required: true, content: toContent(body, 'input') } }),
    responses: {
      [status]: { description: 'Done.', headers: { ...HEADERS, ...headers }, content: toContent(answer, 'output') },
      ...toErrorResponses(all),
    },
  };
}

function toParameters(path: string, params: z.core.$ZodType): object[] {
  const { properties = {}, required = [] } = toSchema(params, 'input') as JsonSchema & { required?: string[] };
  return Object.entries(properties).map(([name, schema]) => {
    const isInPath = path.includes(`:${name}`);
    return { name, in: isInPath ? 'path' : 'query', required: isInPath || required.includes(name), schema };
  });
}

/** Refusals by their status. */
function toErrorResponses(refusals: Record<string, FaultWording>): Record<string, object> {
  const byStatus = Object.groupBy(Object.entries(refusals), ([, { status }]) => status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, entries = []]) => [status, toErrorResponse(Object.fromEntries(entries))]),
  );
}

function toErrorResponse(wordings: Record<string, FaultWording>): object {
  const error = { enum: Object.keys(wordings) };
  const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { error } }] };
  const all = Object.values(wordings);
  const description = Object.entries(wordings)
    .map(([kind, { message }]) => `\`${kind}\`: ${message}`)
    .join('\n\n');
  const waits = all.map(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
  const headers = {
    ...ERROR_HEADERS,
    ...(waits.includes(true) && { 'retry-after': toHeader('Seconds to wait.', !waits.includes(false)) }),
    ...(all.some(({ status }) => status === 405) && { allow: toHeader('The methods of the path.') }),
  };
  return { description, headers, content: { 'application/json': { schema } } };
}

const toContent = (schema: z.core.$ZodType, io: 'input' | 'output') => ({
  'application/json': { schema: toSchema(schema, io) },
});

const toSchema = (schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema =>
  tidySchema(z.toJSONSchema(schema, { io }) as JsonSchema);
