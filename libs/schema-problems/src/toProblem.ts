import type { z } from 'zod';

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** `a, b or c`. */
const CHOICES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** What values that have a length, and not a size, are counted in. */
const UNITS: Record<string, string> = { string: 'characters', array: 'items' };

/**
 * What is wrong with a value, in words that make a sentence after its name: `must be at most 2`. To be given to zod as the
 * `error` of a parse; a message that a schema brings itself goes before it, and should be of that form too. Undefined where
 * zod's own words have to do. Never repeats the value.
 */
export function toProblem(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${CHOICES.format(issue.values.map(String))}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'must be an address with its scheme, as in http://host:8080' : undefined;
    case 'too_small':
      return toTooSmall(issue);
    case 'too_big':
      return toTooBig(issue);
    default:
      return undefined;
  }
}

function toTooSmall({ origin, minimum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  const unit = UNITS[origin];
  if (unit === undefined) return inclusive === false ? `must be more than ${minimum}` : `must be at least ${minimum}`;
  return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} ${unit}`;
}

function toTooBig({ origin, maximum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  const unit = UNITS[origin];
  if (unit === undefined) return inclusive === false ? `must be less than ${maximum}` : `must be at most ${maximum}`;
  return `must have at most ${maximum} ${unit}`;
}
