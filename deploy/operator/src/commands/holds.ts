import { HOLD_REASONS } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { holdId, note, oneOf, option, organizationId } from '../cli/fields.ts';
import { readPages } from '../stack/readPages.ts';

export const listHolds = defineList({
  words: 'holds list',
  summary: 'the open holds of every organization, or every hold of one',
  isOfAllRegions: true,
  input: z.object({
    organization: option('ORG', 'open and ended holds of this organization alone', organizationId.optional()),
  }),
  name: 'holds',
  ifNone: 'There are no holds.',
  read: ({ organization: id }, { services: { account } }) =>
    readPages('holds', (after) =>
      id === undefined
        ? account.listOpenHolds({ params: { after } })
        : account.listHolds({ params: { organization_id: id, after } }),
    ),
  columns: {
    id: 'hold_id',
    organization: 'organization_id',
    reason: 'reason',
    opened: 'opened_at',
    'opened by': 'opened_by',
    ended: 'ended_at',
    'ended by': 'ended_by',
    note: 'note',
  },
});

export const holdCommands: Command[] = [
  listHolds,
  defineCommand({
    words: 'holds open',
    summary: 'put every workspace of an organization on hold, in all regions; a further hold may be open beside it',
    isOfAllRegions: true,
    input: z.object({
      organizationId,
      reason: oneOf('REASON', HOLD_REASONS),
      note: note('why, for operators alone', 1_000),
    }),
    async run({ organizationId: id, ...body }, { services }) {
      const hold = await services.account.openHold({ params: { organization_id: id }, body });
      const text = `${id} is on hold by ${hold.hold_id}. The regions refuse its calls within seconds.`;
      return { document: hold, text };
    },
  }),
  defineCommand({
    words: 'holds end',
    summary: 'end one hold; the workspaces go on when it was the last open one of their organization',
    isOfAllRegions: true,
    input: z.object({ holdId }),
    async run({ holdId: id }, { services: { account } }) {
      const hold = await account.endHold({ params: { hold_id: id } });
      const params = { organization_id: hold.organization_id };
      const { is_on_hold: isOnHold } = await account.getOrganization({ params });
      const rest = isOnHold ? 'stays on hold by another one' : 'is on hold no more';
      return {
        document: { ...hold, organization_is_on_hold: isOnHold },
        text: `${id} has ended; ${hold.organization_id} ${rest}.`,
      };
    },
  }),
];
