import type { Region } from '@turnpike/config/region';
import { toProblem } from '@turnpike/config/toProblem';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { z } from 'zod';
import { catalogFileSchema, toCatalogModels } from './catalogFile.ts';
import { findContradictions } from './findContradictions.ts';
import type { CatalogMistake } from './outline.ts';

export type ParsedCatalog = { models: CatalogModel[] } | { mistakes: CatalogMistake[] };

/** A catalog file's content as the models of `region`, or everything that is wrong with it. */
export function parseCatalogFile(content: unknown, region: Region): ParsedCatalog {
  const result = catalogFileSchema.safeParse(content, { reportInput: true, error: toProblem });
  const mistakes = [...(result.error?.issues.flatMap(toMistakes) ?? []), ...findContradictions(content)];
  if (result.success && result.data.region !== region)
    mistakes.push({ steps: ['region'], reason: `is ${result.data.region}, but this stack is of region ${region}` });
  return result.success && mistakes.length === 0 ? { models: toCatalogModels(result.data) } : { mistakes };
}

function toMistakes(issue: z.core.$ZodIssue): CatalogMistake[] {
  const steps = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ steps: [...steps, key], reason: 'is not a key known here' }));
  return [{ steps, reason: toReason(issue) }];
}

function toReason(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return 'is missing';
  if (issue.code === 'invalid_type' && issue.expected === 'string' && typeof issue.input === 'number')
    return 'must be a text: put it in quotes';
  return issue.message;
}
