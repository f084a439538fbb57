import { join } from 'node:path';
import { type AccountRoute, accountApi, REFUSALS } from '@turnpike/console-api/accountApi';
import type { FaultWording } from '@turnpike/internal-api/internalApi';
import { z } from 'zod';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type JsonSchema, tidySchema } from './jsonSchema.ts';

export const ACCOUNT_OPENAPI_FILE = join(repositoryRoot, 'docs/account-openapi.json');

const DESCRIPTION = [
  'The account layer: sign-in, organizations, members and workspaces, for the pages of its own origin.',
  'A user is known by the cookie `__Host-session`. A request that changes something comes from a page of the same origin.',
  'Branch on the status and on `error`. The messages are for people and may change.',
].join('\n\n');

const toHeader = (description: string, required = true) => ({ description, required, schema: { type: 'string' } });
const HEADERS = {
  'x-request-id': toHeader('Names the request.'),
  'x-content-type-options': toHeader('`nosniff`.'),
};
const ERROR_HEADERS = {
  ...HEADERS,
  'x-error-message': toHeader('The message of the body.'),
  'x-error-param': toHeader('The `param` of the body, where it has one.', false),
};
const INVALID_REQUEST = { status: 400, message: 'A parameter or the body is not what this route takes.' };
const NOT_FOUND = { status: 404, message: 'There is nothing at this path.' };

/** The interface description of the account layer, from the declarations that the control plane serves. */
const toAccountDocument = () => ({
  openapi: '3.1.1',
  info: { title: 'Turnpike accounts', version: '1.0.0', description: DESCRIPTION },
  servers: [
    {
      url: '{origin}',
      description: 'The one address of the account layer, for all regions.',
      variables: { origin: { default: 'http://localhost:8092', description: 'As browsers know it, without a path.' } },
    },
  ],
  paths: toPaths(),
  components: {
    securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: '__Host-session' } },
    responses: { NotFound: toErrorResponse({ not_found: NOT_FOUND }) },
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
});

export const renderAccountOpenApi = (): string => `${JSON.stringify(toAccountDocument(), null, 2)}\n`;

function toPaths(): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, route] of Object.entries<AccountRoute>(accountApi.routes)) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: toOperation(name, route) };
  }
  return paths;
}

function toOperation(name: string, route: AccountRoute): object {
  const { path, promise, params, body, answer, access, status = 200 } = route;
  return {
    operationId: name,
    summary: promise,
    description: describeAccess(access),
    security: access.of === 'anyone' ? [] : [{ session: [] }],
    ...(params && { parameters: toParameters(path, params) }),
    ...(body && { requestBody: { required: true, content: toContent(body, 'input') } }),
    responses: {
      [status]: { description: 'Done.', headers: HEADERS, content: toContent(answer, 'output') },
      ...toErrorResponses(route),
    },
  };
}

function describeAccess(access: AccountRoute['access']): string {
  if (access.of === 'anyone') return 'For anyone.';
  const who =
    access.of === 'session'
      ? 'For a signed-in user.'
      : `For members of the organization whose role has the right \`${access.right}\`.`;
  return access.recent ? `${who} The last proof of who they are is at most 10 minutes old.` : who;
}

function toParameters(path: string, params: z.core.$ZodType): object[] {
  const { properties = {}, required = [] } = toSchema(params, 'input') as JsonSchema & { required?: string[] };
  return Object.entries(properties).map(([name, schema]) => {
    const isInPath = path.includes(`:${name}`);
    return { name, in: isInPath ? 'path' : 'query', required: isInPath || required.includes(name), schema };
  });
}

/** The refusals of a route by their status: those that it declares, and those of its guard and of the reader of its request. */
function toErrorResponses(route: AccountRoute): Record<string, object> {
  const { access, method, params, body, path, faults = {} } = route;
  const isWrite = method !== 'GET';
  const { foreign_origin, not_json, no_session, organization_not_found, right_missing, step_up_required } = REFUSALS;
  const all: Record<string, FaultWording> = {
    ...((params || body) && { invalid_request: INVALID_REQUEST }),
    ...(path.includes(':') && { not_found: NOT_FOUND }),
    ...(isWrite && { foreign_origin, not_json }),
    ...(access.of !== 'anyone' && { no_session }),
    ...(access.of === 'member' && { organization_not_found, right_missing }),
    ...(access.of !== 'anyone' && access.recent && { step_up_required }),
    ...faults,
  };
  const byStatus = Object.groupBy(Object.entries(all), ([, { status }]) => status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, entries = []]) => [status, toErrorResponse(Object.fromEntries(entries))]),
  );
}

function toErrorResponse(wordings: Record<string, FaultWording>): object {
  const error = { enum: Object.keys(wordings) };
  const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { error } }] };
  const description = Object.entries(wordings)
    .map(([kind, { message }]) => `\`${kind}\`: ${message}`)
    .join('\n\n');
  return { description, headers: ERROR_HEADERS, content: { 'application/json': { schema } } };
}

const toContent = (schema: z.core.$ZodType, io: 'input' | 'output') => ({
  'application/json': { schema: toSchema(schema, io) },
});

const toSchema = (schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema =>
  tidySchema(z.toJSONSchema(schema, { io }) as JsonSchema);
