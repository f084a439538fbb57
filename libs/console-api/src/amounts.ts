import * as z from 'zod/mini';

/** Nano-dollars as a decimal text. */
export const nanoUsd = z.string();

/** An upper limit of spend in nano-dollars. It is at most what a double holds exactly. */
export const capNanoUsd = z.pipe(
  z.string().check(
    z.regex(/^(0|[1-9]\d{0,15})$/, 'must be a decimal text of nano-dollars'),
    z.refine((text) => Number(text) <= Number.MAX_SAFE_INTEGER, `must be at most ${Number.MAX_SAFE_INTEGER}`),
  ),
  z.transform((text: string) => BigInt(text)),
);

/** Null means no limit. */
export const limitNanoUsd = z.nullable(capNanoUsd);
