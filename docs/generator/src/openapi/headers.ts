import { HEADERS, type HeaderName } from '@turnpike/public-api/headers';
import type { JsonSchema } from './jsonSchema.ts';

export interface Header {
  description: string;
  required: boolean;
  schema: JsonSchema;
}

/** Headers of an answer. `x-request-id` is on every one. */
export function toHeaders({ always = [], sometimes = [] }: { always?: HeaderName[]; sometimes?: HeaderName[] }) {
  const required = ['x-request-id' as const, ...always];
  const names = [...new Set([...required, ...sometimes])].sort();
  return Object.fromEntries(
    names.map((name): [string, Header] => [name, { ...HEADERS[name], required: required.includes(name) }]),
  );
}
