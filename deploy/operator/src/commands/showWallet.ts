import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [{ title: 'transfer' }, { title: 'code' }, { title: 'USD' }, { title: 'posted' }];

export const showWallet = defineCommand({
  words: 'wallet show',
  summary: 'the credit and the spend of a workspace in the books of the account layer, and the transfers of its wallet',
  isOfAllRegions: true,
  operands: { workspaceId: 'WORKSPACE' },
  input: z.object({ workspaceId }),
  async run({ workspaceId: id }, { services, table }) {
    const wallet = await services.account.getWallet({ params: { workspace_id: id } });
    const transfers = await readPages(async (after) => {
      const page = await services.account.listTransfers({ params: { workspace_id: id, after } });
      return { entries: page.transfers, nextAfter: page.next_after };
    });
    const { credited_nano_usd: credited, spent_nano_usd: spent, balance_nano_usd: balance } = wallet;
    const rows = transfers.map((transfer) => [
      transfer.transfer_id,
      transfer.code,
      toUsdCell(transfer.amount_nano_usd),
      toInstantCell(transfer.posted_at),
    ]);
    const sums = `Credit ${toUsdCell(credited)} USD, spent ${toUsdCell(spent)} USD, balance ${toUsdCell(balance)} USD.`;
    return {
      document: {
        workspace_id: id,
        ...toAmountFields('credited', credited),
        ...toAmountFields('spent', spent),
        ...toAmountFields('balance', balance),
        transfers: transfers.map(({ amount_nano_usd: amount, ...transfer }) => ({
          ...transfer,
          ...toAmountFields('amount', amount),
        })),
      },
      text: rows.length > 0 ? `${table(COLUMNS, rows)}\n\n  ${sums}` : sums,
    };
  },
});
