import type { z } from 'zod';

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** Makes the formatter of `a, b or c` at its first use, because a browser takes some milliseconds for the first formatter of a page. */
const getChoices = () => {
  choices ??= new Intl.ListFormat('en-GB', { type: 'disjunction' });
  return choices;
};
let choices: Intl.ListFormat | undefined;

/** The units of values that have a length. */
const UNITS: Record<string, string> = { string: 'characters', array: 'items' };

/**
 * The problem of a value, in words that make a sentence after its name: `must be at most 2`. For zod's `error` option; a
 * schema's own message takes precedence and should have the same form. Undefined where zod's own words have to do. Never
 * repeats the value.
 */
export function toProblem(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${getChoices().format(issue.values.map(String))}`;
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
