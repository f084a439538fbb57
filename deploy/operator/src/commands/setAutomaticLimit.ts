import { LARGEST_AUTOMATIC_LIMIT_CENTS } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { cents, organizationId } from '../cli/fields.ts';

const toAmount = (limit: number): string => (limit / 100).toFixed(2);
const LARGEST = `must be at most ${toAmount(LARGEST_AUTOMATIC_LIMIT_CENTS)}`;

export const setAutomaticLimit = defineCommand({
  words: 'organizations automatic-limit',
  summary: 'set what automatic top-ups of an organization may be in a month, in each currency; "usual" takes it back',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG', limit: 'AMOUNT|usual' },
  input: z.object({
    organizationId,
    limit: z.union([
      z.literal('usual').transform(() => null),
      cents.refine((limit) => limit <= LARGEST_AUTOMATIC_LIMIT_CENTS, LARGEST),
    ]),
  }),
  async run({ organizationId: id, limit }, { services }) {
    const params = { organization_id: id };
    const set = await services.account.setAutomaticLimit({ params, body: { month_limit_cents: limit } });
    return {
      document: set,
      text: `${id} may be charged ${toAmount(set.month_limit_cents)} a month by automatic top-ups, in each currency and without tax. It was ${toAmount(set.was_cents)}.`,
    };
  },
});
