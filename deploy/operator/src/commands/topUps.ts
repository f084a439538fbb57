import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { option, topUpId, workspaceId } from '../cli/fields.ts';
import { toMoneyCell, toUsdCell } from '../report/cells.ts';
import { withAmounts } from '../report/entries.ts';
import { readPages } from '../stack/readPages.ts';

/** Names the credit of a top-up after what it is. */
const toDocument = <TopUp extends { nano_usd: bigint | null }>({ nano_usd: credit, ...topUp }: TopUp): object =>
  withAmounts({ ...topUp, credit_nano_usd: credit });

export const topUpCommands: Command[] = [
  defineList({
    words: 'top-ups list',
    summary: 'payments into the wallets of workspaces, by the day they were started',
    isOfAllRegions: true,
    input: z.object({ workspace: option('WS', 'those of this workspace alone', workspaceId.optional()) }),
    name: 'top_ups',
    ifNone: 'There are no top-ups.',
    read: ({ workspace }, { services: { account } }) =>
      readPages('top_ups', (after) => account.listTopUps({ params: { after, workspace_id: workspace } })),
    columns: {
      id: 'top_up_id',
      workspace: 'workspace_id',
      state: 'state',
      net: (topUp) => toMoneyCell(topUp.net_cents, topUp.currency),
      tax: (topUp) => toMoneyCell(topUp.tax_cents, topUp.currency),
      'USD per EUR': 'usd_per_eur',
      'credit USD': 'nano_usd',
      invoice: 'invoice_number',
      charged: 'charged_at',
    },
    toDocument,
  }),
  defineCommand({
    words: 'top-ups settle',
    summary: 'ask the payment processor for a payment, and credit it once if it is there',
    isOfAllRegions: true,
    input: z.object({ topUpId }),
    async run({ topUpId: id }, { services }) {
      const topUp = await services.account.settleTopUp({ params: { top_up_id: id } });
      const { nano_usd: credit, state } = topUp;
      const outcome = credit === null ? 'nothing is credited' : `${toUsdCell(credit)} USD are credited`;
      return { document: toDocument(topUp), text: `${id} is ${state}: ${outcome}.` };
    },
  }),
];
