import { setTimeout as pause } from 'node:timers/promises';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { isRefusal } from '@turnpike/internal-api/transport/createClient';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import type { Services } from '../stack/createServices.ts';
import { readPages } from '../stack/readPages.ts';
import { readBalances } from '../stack/workspace.ts';

const COLUMNS = [
  { title: 'workspace' },
  { title: 'wallet', isNumber: true },
  { title: 'given here', isNumber: true },
  { title: 'region', isNumber: true },
  { title: 'difference', isNumber: true },
];
const PAUSE_MS = 2_000;

interface Compared {
  workspaceId: string;
  /** The balance in the books of the account layer. */
  wallet: NanoUsd;
  /** Credit that the operator gave or took in the region alone. */
  givenHere: NanoUsd;
  /** The balance in the region's own books. */
  region: NanoUsd;
}

export const compareWallets = defineCommand({
  words: 'wallets compare',
  summary: "hold the wallets of the account layer against the region's own balances; exit code 1 unless all agree",
  options: {
    workspace: { value: 'WS', help: 'of one workspace; of all in the region if not given' },
    wait: { value: 'SECONDS', help: 'so long for credits and days on their way, 90 if not given' },
  },
  input: z.object({
    workspace: workspaceId.optional(),
    wait: z.coerce.number().int().min(0).max(3_600).default(90),
  }),
  async run({ workspace, wait }, { services, table }) {
    const until = performance.now() + wait * 1_000;
    const agreed: Compared[] = [];
    let ids = workspace === undefined ? await listIds(services) : [workspace];
    let differing: Compared[] = [];
    for (;;) {
      const compared: Compared[] = [];
      for (const id of ids) compared.push(...(await compare(services, id)));
      agreed.push(...compared.filter((each) => differenceOf(each) === 0n));
      differing = compared.filter((each) => differenceOf(each) !== 0n);
      if (differing.length === 0 || performance.now() >= until) break;
      ids = differing.map(({ workspaceId: id }) => id);
      await pause(PAUSE_MS);
    }
    const rows = differing.map((each) => [
      each.workspaceId,
      ...[each.wallet, each.givenHere, each.region, differenceOf(each)].map(toUsdCell),
    ]);
    const count = `  Workspaces: ${agreed.length + differing.length}. ${differing.length === 0 ? 'All wallets agree.' : 'NOT all wallets agree.'}`;
    return {
      document: { agree: differing.length === 0, workspaces: [...agreed, ...differing].map(toDocument) },
      text: rows.length > 0 ? `${table(COLUMNS, rows)}\n\n${count}` : count,
      isFailure: differing.length > 0,
    };
  },
});

const differenceOf = ({ wallet, givenHere, region }: Compared): NanoUsd => wallet + givenHere - region;

const toDocument = (each: Compared): object => ({
  workspace_id: each.workspaceId,
  ...toAmountFields('wallet', each.wallet),
  ...toAmountFields('given_here', each.givenHere),
  ...toAmountFields('region', each.region),
});

async function listIds({ auth }: Services): Promise<string[]> {
  const workspaces = await readPages(async (after) => {
    const page = await auth.listWorkspaces({ params: { after } });
    return { entries: page.workspaces, nextAfter: page.next_after };
  });
  return workspaces.map(({ workspace_id: id }) => id);
}

/** Compares a workspace. Returns nothing for one that the account layer does not know. */
async function compare(services: Services, id: string): Promise<Compared[]> {
  const params = { workspace_id: id };
  let wallet: NanoUsd;
  try {
    wallet = (await services.account.getWallet({ params })).balance_nano_usd;
  } catch (error) {
    if (isRefusal(error, controlPlaneApi.routes.getWallet, 'workspace_not_found')) return [];
    throw error;
  }
  const transfers = await readPages(async (after) => {
    const page = await services.account.listTransfers({ params: { ...params, after } });
    return { entries: page.transfers, nextAfter: page.next_after };
  });
  // The region names a credit by its cause, with a step behind it.
  const causes = new Set(transfers.map(({ source }) => source));
  const credits = await readPages(async (after) => {
    const page = await services.ledger.listCredits({ params: { ...params, after: after || undefined } });
    return { entries: page.credits, nextAfter: page.next_after };
  });
  const givenHere = credits
    .filter(
      ({ credit_id: credit }) => !causes.has(credit) && !causes.has(credit.replace(/_(rest|back|as_booked)$/, '')),
    )
    .reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0n);
  const { credited_nano_usd: credited, spent_nano_usd: spent } = await readBalances(services, id);
  return [{ workspaceId: id, wallet, givenHere, region: credited - spent }];
}
