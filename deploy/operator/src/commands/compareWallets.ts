import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toUsdCell } from '../report/amounts.ts';
import {
  compareWallets as compareAll,
  differenceOf,
  toWalletDocument,
  USUAL_WAIT_SECONDS,
} from '../stack/walletComparison.ts';

const COLUMNS = [
  { title: 'workspace' },
  { title: 'wallet', isNumber: true },
  { title: 'given here', isNumber: true },
  { title: 'region', isNumber: true },
  { title: 'difference', isNumber: true },
];

export const compareWallets = defineCommand({
  words: 'wallets compare',
  summary: "hold the wallets of the account layer against the region's own balances; exit code 1 unless all agree",
  options: {
    workspace: { value: 'WS', help: 'of one workspace; of all in the region if not given' },
    wait: {
      value: 'SECONDS',
      help: `so long for credits and days on their way, ${USUAL_WAIT_SECONDS} if not given`,
    },
  },
  input: z.object({
    workspace: workspaceId.optional(),
    wait: z.coerce.number().int().min(0).max(3_600).optional(),
  }),
  async run({ workspace, wait }, { services, table }) {
    const wallets = await compareAll(services, { workspace, waitSeconds: wait });
    const differing = wallets.filter(({ agrees }) => !agrees);
    const rows = differing.map((each) => [
      each.workspaceId,
      ...[each.wallet, each.givenHere, each.region, differenceOf(each)].map(toUsdCell),
    ]);
    const count = `  Workspaces: ${wallets.length}. ${differing.length === 0 ? 'All wallets agree.' : 'NOT all wallets agree.'}`;
    return {
      document: { agree: differing.length === 0, workspaces: wallets.map(toWalletDocument) },
      text: rows.length > 0 ? `${table(COLUMNS, rows)}\n\n${count}` : count,
      isFailure: differing.length > 0,
    };
  },
});
