import type { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { cents, note, option, refundId, topUpId, workspaceId, YES } from '../cli/fields.ts';
import { toMoneyCell, toUsdCell } from '../report/cells.ts';
import { type Columns, tabulate, withAmounts } from '../report/entries.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS: Columns<z.output<typeof controlPlaneApi.routes.getRefund.answer>> = {
  id: 'refund_id',
  'top-up': 'top_up_id',
  workspace: 'workspace_id',
  state: 'state',
  wanted: (refund) => toMoneyCell(refund.wanted_cents, refund.currency),
  taken: (refund) => toMoneyCell(refund.taken_cents, refund.currency),
  tax: (refund) => toMoneyCell(refund.tax_cents, refund.currency),
  'credit note': 'credit_note_number',
  started: 'created_at',
};

export const refundCommands: Command[] = [
  defineCommand({
    words: 'refunds start',
    summary: 'take the unspent credit of a top-up back, and refund what was taken by a credit note',
    isOfAllRegions: true,
    input: z.object({
      topUpId,
      amount: option(
        'AMOUNT',
        "of so much without tax, in the top-up's currency; of all that is left if not given",
        cents.optional(),
      ),
      note: note('why, for people', 500),
      yes: YES,
    }),
    async run({ topUpId: id, amount, note: words, yes }, { services, confirm }) {
      const what = amount === undefined ? 'all that is left' : (amount / 100).toFixed(2);
      if (!yes) await confirm(`This refunds ${what} of ${id} as far as it is unspent. Type ${id} to do it: `, id);
      const body = { net_cents: amount, note: words };
      const refund = await services.account.startRefund({ params: { top_up_id: id }, body });
      const wanted = toMoneyCell(refund.wanted_cents, refund.currency);
      return {
        document: withAmounts(refund),
        text: `${refund.refund_id} wants ${wanted} without tax back. "turnpike refunds show ${refund.refund_id}" says what was taken.`,
      };
    },
  }),
  defineList({
    words: 'refunds list',
    summary: 'refunds of top-ups in any state, by the day they were started',
    isOfAllRegions: true,
    input: z.object({ workspace: option('WS', 'those of this workspace alone', workspaceId.optional()) }),
    name: 'refunds',
    ifNone: 'There are no refunds.',
    read: ({ workspace }, { services: { account } }) =>
      readPages('refunds', (after) => account.listRefunds({ params: { after, workspace_id: workspace } })),
    columns: COLUMNS,
  }),
  defineCommand({
    words: 'refunds show',
    summary: 'a refund: what was wanted and taken, and its credit note',
    isOfAllRegions: true,
    input: z.object({ refundId }),
    async run({ refundId: id }, { services, table }) {
      const refund = await services.account.getRefund({ params: { refund_id: id } });
      const lines = [
        tabulate(table, COLUMNS, [refund]),
        '',
        `  Credit taken: ${toUsdCell(refund.taken_nano_usd)} USD. Started by ${refund.started_by}.`,
        ...(refund.refusal === null ? [] : [`  The processor refused: ${refund.refusal}`]),
      ];
      return { document: withAmounts(refund), text: lines.join('\n') };
    },
  }),
];
