import { LARGEST_LIMIT_NANO_USD, nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';

/** An upper limit of spend; null means there is none. */
export const capNanoUsd = nonNegativeNanoUsdSchema
  .refine((amount) => amount <= LARGEST_LIMIT_NANO_USD, `must be at most ${LARGEST_LIMIT_NANO_USD}`)
  .nullable();

/** Takes what `capNanoUsd` takes; absent means null. */
export const limitNanoUsd = capNanoUsd.default(null);

const idOf = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,64}$`), `must be ${prefix}_ and letters, digits or dashes`);

export const organizationId = idOf('org');
export const workspaceId = idOf('ws');

/** A name that people give. Postgres cannot hold a NUL. */
export const displayName = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\0]*$/, 'must not hold a NUL');

/** SHA-256 of a key, which travels in the key's stead. */
export const keySha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

export const lastFour = z.string().regex(/^[0-9A-Za-z]{4}$/, 'must be the last four characters of the key');
