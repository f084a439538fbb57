import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { toProblem } from './toProblem.ts';

it.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, 'is required'],
  [z.string(), 7, 'must be a text'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.array(z.string()), 'a', 'must be a list'],
  [z.object({}), 'a', 'must be an object'],
  [z.record(z.string(), z.unknown()), 'a', 'must be an object'],
  [z.coerce.number(), 'a', 'must be a number'],
  [z.number().int(), 1.5, 'must be a whole number'],
  [z.number().min(0), -1, 'must be at least 0'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().max(2), 3, 'must be at most 2'],
  [z.number().lt(2), 2, 'must be less than 2'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(2), 'a', 'must have at least 2 characters'],
  [z.string().max(2), 'abc', 'must have at most 2 characters'],
  [z.array(z.string()).min(1), [], 'must not be empty'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'must have at most 2 items'],
  [z.enum(['us', 'eu']), 'mars', 'must be us or eu'],
  [z.enum(['info', 'warn', 'error']), 'loud', 'must be info, warn or error'],
  [z.literal('function'), 'tool', 'must be function'],
  [z.url(), 'mars', 'must be an address with its scheme, as in http://host:8080'],
  [z.string().max(2, 'must be short'), 'abc', 'must be short'],
])('says what is wrong so that it follows a name (%#)', (schema, value, problem) => {
  const { error } = schema.safeParse(value, { error: toProblem });
  expect(error?.issues.map(({ message }) => message)).toEqual([problem]);
});
