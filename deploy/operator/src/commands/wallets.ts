import { z } from 'zod';
import { type Command, defineCommand } from '../cli/command.ts';
import { operand, option, seconds, workspaceId } from '../cli/fields.ts';
import { toUsdCell } from '../report/cells.ts';
import { tabulate, withAmounts } from '../report/entries.ts';
import { readPages } from '../stack/readPages.ts';
import { compareWallets, differenceOf, toWalletDocument, USUAL_WAIT_SECONDS } from '../stack/walletComparison.ts';

const TRANSFERS = { transfer: 'transfer_id', code: 'code', USD: 'amount_nano_usd', posted: 'posted_at' } as const;
const DIFFERENCES = {
  workspace: 'workspaceId',
  wallet: 'wallet',
  'given here': 'givenHere',
  region: 'region',
  difference: differenceOf,
} as const;

export const walletCommands: Command[] = [
  defineCommand({
    words: 'wallet show',
    summary:
      'the credit and the spend of a workspace in the books of the account layer, and the transfers of its wallet',
    isOfAllRegions: true,
    input: z.object({ workspaceId: operand('WORKSPACE', workspaceId) }),
    async run({ workspaceId: id }, { services: { account }, table }) {
      const params = { workspace_id: id };
      const wallet = await account.getWallet({ params });
      const transfers = await readPages('transfers', (after) =>
        account.listTransfers({ params: { ...params, after } }),
      );
      const { credited_nano_usd: credited, spent_nano_usd: spent, balance_nano_usd: balance } = wallet;
      const sums = `Credit ${toUsdCell(credited)} USD, spent ${toUsdCell(spent)} USD, balance ${toUsdCell(balance)} USD.`;
      return {
        document: { workspace_id: id, ...withAmounts(wallet), transfers: transfers.map(withAmounts) },
        text: transfers.length > 0 ? `${tabulate(table, TRANSFERS, transfers)}\n\n  ${sums}` : sums,
      };
    },
  }),
  defineCommand({
    words: 'wallets compare',
    summary: "hold the wallets of the account layer against the region's own balances; exit code 1 unless all agree",
    input: z.object({
      workspace: option('WS', 'of one workspace; of all in the region if not given', workspaceId.optional()),
      wait: seconds(`so long for credits and days on their way, ${USUAL_WAIT_SECONDS} if not given`, 3_600),
    }),
    async run({ workspace, wait }, { services, table }) {
      const wallets = await compareWallets(services, { workspace, waitSeconds: wait });
      const differing = wallets.filter(({ agrees }) => !agrees);
      const count = `  Workspaces: ${wallets.length}. ${differing.length === 0 ? 'All wallets agree.' : 'NOT all wallets agree.'}`;
      return {
        document: { agree: differing.length === 0, workspaces: wallets.map(toWalletDocument) },
        text: differing.length > 0 ? `${tabulate(table, DIFFERENCES, differing)}\n\n${count}` : count,
        isFailure: differing.length > 0,
      };
    },
  }),
];
