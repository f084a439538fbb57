import { HOLD_REASONS } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { holdId, organizationId } from '../cli/fields.ts';

export const openHold = defineCommand({
  words: 'holds open',
  summary: 'put every workspace of an organization on hold, in all regions; a further hold may be open beside it',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  options: {
    reason: { value: 'REASON', help: HOLD_REASONS.join(', ') },
    note: { value: 'TEXT', help: 'why, for operators alone' },
  },
  input: z.object({
    organizationId,
    reason: z.enum(HOLD_REASONS, `must be one of ${HOLD_REASONS.join(', ')}`),
    note: z.string().max(1_000, 'must be at most 1000 characters').default(''),
  }),
  async run({ organizationId: id, reason, note }, { services }) {
    const hold = await services.account.openHold({ params: { organization_id: id }, body: { reason, note } });
    return {
      document: hold,
      text: `${id} is on hold by ${hold.hold_id}. The regions refuse its calls within seconds.`,
    };
  },
});

export const endHold = defineCommand({
  words: 'holds end',
  summary: 'end one hold; the workspaces go on when it was the last open one of their organization',
  isOfAllRegions: true,
  operands: { holdId: 'HOLD' },
  input: z.object({ holdId }),
  async run({ holdId: id }, { services }) {
    const hold = await services.account.endHold({ params: { hold_id: id } });
    const { is_on_hold: isOnHold } = await services.account.getOrganization({
      params: { organization_id: hold.organization_id },
    });
    const rest = isOnHold ? 'stays on hold by another one' : 'is on hold no more';
    return {
      document: { ...hold, organization_is_on_hold: isOnHold },
      text: `${id} has ended; ${hold.organization_id} ${rest}.`,
    };
  },
});
