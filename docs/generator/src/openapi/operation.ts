import { toHeaders } from './headers.ts';
import type { JsonSchema } from './jsonSchema.ts';
import { refTo, type SchemaName } from './jsonSchemas.ts';
import type { ResponseObject, SharedResponse } from './responses.ts';

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  description: string;
  schema: JsonSchema;
  explode?: boolean;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  /** Any one of these is enough; where it is missing, those of the document are. */
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: true; content: Record<string, { schema: JsonSchema; example: unknown }> };
  responses: Record<string, ResponseObject | { $ref: string }>;
}

export type Errors = Record<string, SharedResponse>;

/** The operations of one path. */
export type Methods = Partial<Record<'get' | 'post' | 'delete', Operation>>;

export const refsTo = (errors: Errors) =>
  Object.fromEntries(
    Object.entries(errors).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  );

export const jsonBody = (schema: SchemaName, example: unknown) => ({
  required: true as const,
  content: { 'application/json': { schema: refTo(schema), example } },
});

export const jsonAnswer = (description: string, schema: SchemaName, example: unknown): ResponseObject => ({
  description,
  headers: toHeaders({}),
  content: { 'application/json': { schema: refTo(schema), example } },
});
