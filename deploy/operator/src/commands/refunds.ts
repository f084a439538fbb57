import type { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { Client } from '@turnpike/internal-api/transport/createClient';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { cents, refundId, topUpId, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toMoneyCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'top-up' },
  { title: 'workspace' },
  { title: 'state' },
  { title: 'wanted' },
  { title: 'taken' },
  { title: 'tax' },
  { title: 'credit note' },
  { title: 'started' },
];
type Refund = Awaited<ReturnType<Client<typeof controlPlaneApi>['getRefund']>>;

const toRow = (refund: Refund): string[] => [
  refund.refund_id,
  refund.top_up_id,
  refund.workspace_id,
  refund.state,
  toMoneyCell(refund.wanted_cents, refund.currency),
  toMoneyCell(refund.taken_cents, refund.currency),
  toMoneyCell(refund.tax_cents, refund.currency),
  refund.credit_note_number ?? '-',
  toInstantCell(refund.created_at),
];

const toDocument = ({ taken_nano_usd: taken, ...refund }: Refund) => ({ ...refund, ...toAmountFields('taken', taken) });

export const startRefund = defineCommand({
  words: 'refunds start',
  summary: 'take the unspent credit of a top-up back, and refund what was taken by a credit note',
  isOfAllRegions: true,
  operands: { topUpId: 'TOP_UP' },
  options: {
    amount: {
      value: 'AMOUNT',
      help: "of so much without tax, in the top-up's currency; of all that is left if not given",
    },
    note: { value: 'TEXT', help: 'why, for people' },
    yes: { help: 'do not ask for a confirmation' },
  },
  input: z.object({
    topUpId,
    amount: cents.optional(),
    note: z.string().max(500, 'must be at most 500 characters').default(''),
    yes: z.boolean().default(false),
  }),
  async run({ topUpId: id, amount, note, yes }, { services, confirm }) {
    const what = amount === undefined ? 'all that is left' : (amount / 100).toFixed(2);
    if (!yes) await confirm(`This refunds ${what} of ${id} as far as it is unspent. Type ${id} to do it: `, id);
    const refund = await services.account.startRefund({
      params: { top_up_id: id },
      body: { net_cents: amount, note },
    });
    const wanted = toMoneyCell(refund.wanted_cents, refund.currency);
    return {
      document: toDocument(refund),
      text: `${refund.refund_id} wants ${wanted} without tax back. "turnpike refunds show ${refund.refund_id}" says what was taken.`,
    };
  },
});

export const listRefunds = defineCommand({
  words: 'refunds list',
  summary: 'refunds of top-ups in any state, by the day they were started',
  isOfAllRegions: true,
  options: { workspace: { value: 'WS', help: 'those of this workspace alone' } },
  input: z.object({ workspace: workspaceId.optional() }),
  async run({ workspace }, { services, table }) {
    const refunds = await readPages(async (after) => {
      const page = await services.account.listRefunds({ params: { after, workspace_id: workspace } });
      return { entries: page.refunds, nextAfter: page.next_after };
    });
    return {
      document: { refunds: refunds.map(toDocument) },
      text: refunds.length > 0 ? table(COLUMNS, refunds.map(toRow)) : 'There are no refunds.',
    };
  },
});

export const showRefund = defineCommand({
  words: 'refunds show',
  summary: 'a refund: what was wanted and taken, and its credit note',
  isOfAllRegions: true,
  operands: { refundId: 'REFUND' },
  input: z.object({ refundId }),
  async run({ refundId: id }, { services, table }) {
    const refund = await services.account.getRefund({ params: { refund_id: id } });
    const lines = [
      table(COLUMNS, [toRow(refund)]),
      '',
      `  Credit taken: ${toUsdCell(refund.taken_nano_usd)} USD. Started by ${refund.started_by}.`,
      ...(refund.refusal === null ? [] : [`  The processor refused: ${refund.refusal}`]),
    ];
    return { document: toDocument(refund), text: lines.join('\n') };
  },
});
