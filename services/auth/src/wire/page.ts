import { ApiError } from '@turnpike/api-errors/apiError';
import type { InvalidRequestFault } from '@turnpike/http-service/createBodyReader';
import type { Request } from 'express';
import { z } from 'zod';

/** Most entries of one answer of a list. */
export const PAGE_SIZE = 500;

const afterSchema = z
  .string()
  .max(128)
  .regex(/^[^\0]*$/)
  .default('');

/** The id that a list goes on after, from `?after=`; empty for its beginning. Throws an `InvalidRequestFault`. */
export function parseAfter({ query }: Request): string {
  const after = afterSchema.safeParse(query.after);
  if (after.success) return after.data;
  throw new ApiError<InvalidRequestFault>({ kind: 'invalid_request', param: 'after', problem: 'must be an id' });
}

/** The cursor of the next page: the last id of a full page, null at the end of the list. */
export const toNextAfter = (ids: string[]): string | null => (ids.length < PAGE_SIZE ? null : (ids.at(-1) ?? null));
