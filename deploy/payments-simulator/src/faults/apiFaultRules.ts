import { z } from 'zod';
import { Rules, ruleShape } from './rules.ts';

export const apiFaultRulesSchema = z.array(
  z.strictObject({
    ...ruleShape,
    fault: z.enum([
      // Nothing is done.
      'reset_before',
      'refuse_429',
      'refuse_500',
      'refuse_503',
      'never_answers',
      // All is done, and the answer is lost.
      'reset_after',
      'answer_500_after',
      // All is done, and the answer comes `delayMs` later.
      'slow',
    ]),
    delayMs: z.int().min(0).max(600_000).default(1_000),
  }),
);
export type ApiFaultRule = z.output<typeof apiFaultRulesSchema>[number];
export const createApiFaults = (): Rules<ApiFaultRule> => new Rules();
