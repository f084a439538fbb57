import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { topUpId, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toMoneyCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'workspace' },
  { title: 'state' },
  { title: 'net' },
  { title: 'tax' },
  { title: 'USD per EUR' },
  { title: 'credit USD' },
  { title: 'invoice' },
  { title: 'charged' },
];

export const listTopUps = defineCommand({
  words: 'top-ups list',
  summary: 'payments into the wallets of workspaces, by the day they were started',
  isOfAllRegions: true,
  options: { workspace: { value: 'WS', help: 'those of this workspace alone' } },
  input: z.object({ workspace: workspaceId.optional() }),
  async run({ workspace }, { services, table }) {
    const topUps = await readPages(async (after) => {
      const page = await services.account.listTopUps({ params: { after, workspace_id: workspace } });
      return { entries: page.top_ups, nextAfter: page.next_after };
    });
    const rows = topUps.map((topUp) => [
      topUp.top_up_id,
      topUp.workspace_id,
      topUp.state,
      toMoneyCell(topUp.net_cents, topUp.currency),
      toMoneyCell(topUp.tax_cents, topUp.currency),
      topUp.usd_per_eur ?? '-',
      toUsdCell(topUp.nano_usd),
      topUp.invoice_number ?? '-',
      toInstantCell(topUp.charged_at),
    ]);
    const document = topUps.map(({ nano_usd: credit, ...topUp }) => ({
      ...topUp,
      ...toAmountFields('credit', credit),
    }));
    return { document: { top_ups: document }, text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no top-ups.' };
  },
});

export const settleTopUp = defineCommand({
  words: 'top-ups settle',
  summary: 'ask the payment processor for a payment, and credit it once if it is there',
  isOfAllRegions: true,
  operands: { topUpId: 'TOP_UP' },
  input: z.object({ topUpId }),
  async run({ topUpId: id }, { services }) {
    const { nano_usd: credit, ...topUp } = await services.account.settleTopUp({ params: { top_up_id: id } });
    const outcome = credit === null ? 'nothing is credited' : `${toUsdCell(credit)} USD are credited`;
    return {
      document: { ...topUp, ...toAmountFields('credit', credit) },
      text: `${id} is ${topUp.state}: ${outcome}.`,
    };
  },
});
