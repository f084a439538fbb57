import { z } from 'zod';
import { jsonSchema } from './sharedSettings.ts';

/** A limit that is a number of whole things. */
export const countSchema = z.number().int().positive();

/**
 * The setting `LIMITS`: one JSON object with other values for limits of the code, by their names. A limit that it does not name keeps
 * its default. Test stacks set limits that a test can wait for.
 */
export const limitsSchema = <Shape extends z.ZodRawShape>(shape: Shape) =>
  jsonSchema.pipe(z.strictObject(shape)).prefault('{}');

/** The limits among a schema's settings. */
export type Limits<Settings> = Settings extends { LIMITS: infer Named } ? Named : unknown;

/** The names of a schema's limits. */
export function limitNamesOf({ shape }: z.ZodObject): string[] {
  return Object.keys(limitsOf(shape));
}

/** The schema of each limit, by its name. Empty for a service without limits. */
export function limitsOf({ LIMITS: setting }: z.ZodRawShape): z.ZodRawShape {
  const pipe = setting instanceof z.ZodPrefault ? setting.unwrap() : undefined;
  const named = pipe instanceof z.ZodPipe ? pipe.out : undefined;
  return named instanceof z.ZodObject ? named.shape : {};
}
