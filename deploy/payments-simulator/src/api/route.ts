import type { z } from 'zod';
import type { Processor } from '../state/processor.ts';

/** An operation of the API. */
export interface Route {
  /** Method and path with its parameters, as the log names it: `GET /v1/invoices/{id}`. */
  name: string;
  params: z.ZodType;
  handle: (processor: Processor, params: never, ids: readonly string[]) => object;
}

/** Makes a route whose handler gets parameters of the schema's type, and the ids of the path in their order. */
export function route<Schema extends z.ZodType>(
  name: string,
  params: Schema,
  handle: (processor: Processor, params: z.output<Schema>, ...ids: string[]) => object,
): Route {
  return { name, params, handle: (processor, given, ids) => handle(processor, given, ...ids) };
}
