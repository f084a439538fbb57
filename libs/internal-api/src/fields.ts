import { LARGEST_LIMIT_NANO_USD, nanoUsdSchema, nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';

// Parts of the parameters and bodies of several routes.

/** An amount that is given, or below zero taken. */
export const movedNanoUsd = nanoUsdSchema
  .refine((amount) => amount !== 0n, 'must not be zero')
  .refine(
    (amount) => amount <= LARGEST_LIMIT_NANO_USD && amount >= -LARGEST_LIMIT_NANO_USD,
    `must be at most ${LARGEST_LIMIT_NANO_USD} either way`,
  );

/** An upper limit of spend; null means there is none. */
export const capNanoUsd = nonNegativeNanoUsdSchema
  .refine((amount) => amount <= LARGEST_LIMIT_NANO_USD, `must be at most ${LARGEST_LIMIT_NANO_USD}`)
  .nullable();

/** Text that Postgres can hold. */
export const text = z.string().regex(/^[^\0]*$/, 'must not hold a NUL');

/** An id of whatever form, to be looked for: one that nobody has is not found. */
export const anyId = text.min(1).max(128);

/** An id that callers choose. */
export const plainId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, dashes or underscores');

const idOf = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,64}$`), `must be ${prefix}_ and letters, digits or dashes`);

export const organizationId = idOf('org');
export const workspaceId = idOf('ws');

/** The id of a model, as the catalog has it. */
export const modelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,95}$/, 'must be lower-case letters, digits, dots and dashes');

/** A UTC month as `YYYY-MM`. */
export const month = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month as YYYY-MM');

/** The cursor of a page: the list goes on after this id; at its beginning unless given. */
export const afterId = text.max(128).default('');

/** The cursor of the next page; null at the end of a list. */
export const nextAfter = z.string().nullable();

/** The limit of answers that grow with a workspace or a region. */
export const LARGE_ANSWER_BYTES = 64 * 1024 * 1024;
