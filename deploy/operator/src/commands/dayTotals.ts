import { regionSchema } from '@turnpike/config/region';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { epoch, operand, workspaceId } from '../cli/fields.ts';
import { readPages } from '../stack/readPages.ts';

export const dayTotalCommands: Command[] = [
  defineList({
    words: 'totals list',
    summary: 'spend and requests of a workspace by UTC day, as its region reported them to the account layer',
    isOfAllRegions: true,
    input: z.object({ workspaceId: operand('WORKSPACE', workspaceId) }),
    name: 'days',
    ifNone: 'No day of this workspace was reported.',
    read: ({ workspaceId: id }, { services: { account } }) =>
      readPages('days', (after) => account.listDayTotals({ params: { workspace_id: id, after } })),
    columns: { day: 'day', 'spend USD': 'spend_nano_usd', requests: 'requests', reported: 'reported_at' },
    about: ({ workspaceId: id }) => ({ workspace_id: id }),
  }),
  defineList({
    words: 'totals epochs',
    summary: 'the lives of the ledger of each region; the days of one that is not confirmed are kept aside',
    isOfAllRegions: true,
    name: 'epochs',
    ifNone: 'No region has reported.',
    read: async (_input, { services }) => (await services.account.listRegionEpochs({ params: {} })).epochs,
    columns: {
      region: 'region',
      epoch: 'epoch',
      'first report': 'first_reported_at',
      'last report': 'last_reported_at',
      confirmed: 'confirmed_at',
      by: 'confirmed_by',
    },
  }),
  defineCommand({
    words: 'totals confirm',
    summary: 'make the days of a restored ledger count, once it has read the event log again',
    isOfAllRegions: true,
    input: z.object({ of: operand('REGION', regionSchema), epoch }),
    async run({ of: region, epoch: confirmed }, { services }) {
      const document = await services.account.confirmRegionEpoch({ params: { region }, body: { epoch: confirmed } });
      return { document, text: `The days that ${region} reported in ${confirmed} count now.` };
    },
  }),
];
