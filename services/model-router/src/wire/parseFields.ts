import { toProblem } from '@turnpike/schema-problems/toProblem';
import type { z } from 'zod';
import { invalidRequest } from './requestFields.ts';
import { toParam } from './toParam.ts';

/** Reads a body through a schema. Throws `invalid_request` with the first thing wrong and its place: `messages[0].content`. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value, { error: toProblem });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (!issue) throw invalidRequest(null, 'The body is not valid.');
  const { path, problem } = findCause(issue);
  const param = toParam(path);
  throw invalidRequest(param, `${param ?? 'The body'} ${problem}`);
}

interface Cause {
  path: PropertyKey[];
  problem: string;
}

/**
 * What is wrong and where. Of a value that may have several forms, the form that it has comes furthest: a part of a list of
 * content parts is named itself, while a stop that is a number is no form of `stop`.
 */
function findCause(issue: z.core.$ZodIssue): Cause {
  const forms = issue.code === 'invalid_union' ? issue.errors : [];
  const causes = forms.flatMap(([first]) => (first ? [findCause(first)] : []));
  const [furthest] = causes.sort((a, b) => b.path.length - a.path.length);
  return furthest && furthest.path.length > 1
    ? { path: [...issue.path, ...furthest.path], problem: furthest.problem }
    : { path: issue.path, problem: issue.message };
}
