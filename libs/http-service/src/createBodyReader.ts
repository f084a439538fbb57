import { ApiError } from '@turnpike/api-errors/apiError';
import { toProblem } from '@turnpike/schema-problems/toProblem';
import express, { type Request, type Response } from 'express';
import type { z } from 'zod';

/** An internal caller sent something that is not what the route takes. `param` is the first wrong field. */
export type InvalidRequestFault = { kind: 'invalid_request'; param: string; problem: string };

/** Reads an internal route's JSON body of at most so many bytes through a schema. Throws an `InvalidRequestFault`. */
export function createBodyReader<Schema extends z.ZodType>(schema: Schema, { limitBytes }: { limitBytes: number }) {
  const parseJson = express.json({ limit: limitBytes, inflate: false, type: () => true });
  return async function readBody(req: Request, res: Response): Promise<z.output<Schema>> {
    await new Promise<void>((resolve, reject) => {
      parseJson(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(toFault(error))));
    });
    const result = schema.safeParse(req.body, { error: toProblem });
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw invalid(issue?.path.join('.') || 'body', issue?.message ?? 'is not what this route takes');
  };
}

/** The parser's own messages quote the body; its error types do not. */
function toFault(error: unknown): ApiError<InvalidRequestFault> {
  const reason = error instanceof Error && 'type' in error ? `: ${error.type}` : '';
  return invalid('body', `cannot be read${reason}`);
}

function invalid(param: string, problem: string): ApiError<InvalidRequestFault> {
  return new ApiError({ kind: 'invalid_request', param, problem });
}
