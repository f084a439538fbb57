import { ApiError } from '@turnpike/public-api/apiError';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { UsageDimension, UsageRange } from '../ledger/sumUsage.ts';

export interface UsageQuery extends UsageRange {
  /** Without repetitions. */
  groupBy: UsageDimension[];
}

const LONGEST_RANGE_DAYS = 366;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Pattern of a parameter name that may be shown, because a client may have pasted a secret. */
const SHOWN_NAME = /^[a-z_]{1,32}$/i;

/** A day, alone or with a whole hour in UTC. Years have four digits, as in Postgres. */
const HOUR_PATTERN = /^(2\d{3}-\d{2}-\d{2})(?:T(\d{2}):00:00(?:\.0{1,9})?(?:Z|\+00:00))?$/i;

const hourSchema = z.string({ error: 'must be given once' }).transform((text, context): Date => {
  const hour = parseHour(text);
  if (hour) return hour;
  context.addIssue('must be a date (2026-11-30) or an instant on a whole hour in UTC (2026-11-30T18:00:00Z)');
  return z.NEVER;
});
const dimensionSchema = z.enum(['model', 'day', 'hour', 'modality']);
const groupBySchema = z
  .string({ error: 'must be given once, with commas between its values' })
  .transform((list) => list.split(','))
  .pipe(z.array(dimensionSchema))
  .refine((dimensions) => new Set(dimensions).size === dimensions.length);
const querySchema = z.strictObject({
  start: hourSchema.optional(),
  end: hourSchema.optional(),
  group_by: groupBySchema.optional(),
});

/**
 * Reads the query of `GET /v1/svc/usage`. Default of `start` and `end` is the current UTC calendar month. Throws
 * `invalid_request` with the parameter's name for an unknown parameter or value.
 */
export function parseUsageQuery(query: unknown, now: Date): UsageQuery {
  const result = querySchema.safeParse(query);
  if (!result.success) throw toFault(result.error);
  const { start = beginOfMonth(now, 0), end = beginOfMonth(now, 1), group_by: groupBy = [] } = result.data;
  if (start >= end) {
    const [param, problem] = result.data.end ? ['end', 'must lie after start'] : ['start', 'must lie before end'];
    throw invalid(param, `${problem}; the current calendar month is the default of both`);
  }
  if (end.getTime() - start.getTime() > LONGEST_RANGE_DAYS * DAY_MS) {
    throw invalid('start', `must lie at most ${LONGEST_RANGE_DAYS} days before end`);
  }
  return { start, end, groupBy };
}

function beginOfMonth(now: Date, monthsAhead: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead));
}

function toFault({ issues: [issue] }: z.ZodError): ApiError<LedgerFault> {
  if (issue?.code === 'unrecognized_keys') {
    const [name = ''] = issue.keys;
    return SHOWN_NAME.test(name)
      ? invalid(name, 'is not a parameter: there are start, end and group_by')
      : invalid('query', 'has an unknown parameter: there are start, end and group_by');
  }
  if (issue?.path[0] === 'group_by') {
    return invalid('group_by', 'must be of model, day, hour and modality, each once, with commas between them');
  }
  return invalid(String(issue?.path[0] ?? 'query'), issue?.message ?? 'is not what this route takes');
}

const invalid = (param: string, problem: string): ApiError<LedgerFault> =>
  new ApiError({ kind: 'invalid_request', param, problem });

/** Parses a date (`2026-11-30`, its first hour in UTC) or an RFC 3339 instant on a whole UTC hour. */
function parseHour(text: string): Date | undefined {
  const [, day, hour = '00'] = HOUR_PATTERN.exec(text) ?? [];
  if (day === undefined) return undefined;
  const instant = new Date(`${day}T${hour}:00:00.000Z`);
  // 30 February and 24 o'clock are invalid, or parsed as a later instant.
  const isReal = !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(`${day}T${hour}:`);
  return isReal ? instant : undefined;
}
