import { setTimeout as pause } from 'node:timers/promises';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { isRefusal } from '@turnpike/internal-api/transport/createClient';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { withAmounts } from '../report/entries.ts';
import type { Services } from './createServices.ts';
import { readPages } from './readPages.ts';
import { readBalances } from './workspace.ts';

const PAUSE_MS = 2_000;
/** The region reports what was spent once a minute. */
export const USUAL_WAIT_SECONDS = 90;

/** A wallet in the books of the account layer, beside the balance in those of its region. */
export interface ComparedWallet {
  workspaceId: string;
  wallet: NanoUsd;
  /** Credit that the operator gave or took in the region alone. */
  givenHere: NanoUsd;
  region: NanoUsd;
  agrees: boolean;
}

/**
 * Compares the wallets of one workspace, or of all in the region that the account layer knows. A wallet agrees if it has each credit of
 * its region. Its spend lies between that of the region when the comparison began and that of now. Waits so long for credits and days
 * on their way.
 */
export async function compareWallets(
  services: Services,
  { workspace, waitSeconds = USUAL_WAIT_SECONDS }: { workspace?: string | undefined; waitSeconds?: number | undefined },
): Promise<ComparedWallet[]> {
  const until = performance.now() + waitSeconds * 1_000;
  const spentAtFirst = new Map<string, NanoUsd>();
  const agreed: ComparedWallet[] = [];
  let ids = workspace === undefined ? await listIds(services) : [workspace];
  for (;;) {
    const compared: ComparedWallet[] = [];
    for (const id of ids) compared.push(...(await compare(services, id, spentAtFirst)));
    agreed.push(...compared.filter(({ agrees }) => agrees));
    const differing = compared.filter(({ agrees }) => !agrees);
    if (differing.length === 0 || performance.now() >= until) return [...agreed, ...differing];
    ids = differing.map(({ workspaceId: id }) => id);
    await pause(PAUSE_MS);
  }
}

export const differenceOf = ({ wallet, givenHere, region }: ComparedWallet): NanoUsd => wallet + givenHere - region;

export const toWalletDocument = (each: ComparedWallet): object => ({
  workspace_id: each.workspaceId,
  ...withAmounts({ wallet_nano_usd: each.wallet, given_here_nano_usd: each.givenHere, region_nano_usd: each.region }),
  agrees: each.agrees,
});

async function listIds({ auth }: Services): Promise<string[]> {
  const workspaces = await readPages('workspaces', (after) => auth.listWorkspaces({ params: { after } }));
  return workspaces.map(({ workspace_id: id }) => id);
}

/** Compares a workspace. Returns nothing for one that the account layer does not know. */
async function compare(services: Services, id: string, spentAtFirst: Map<string, NanoUsd>): Promise<ComparedWallet[]> {
  const wallet = await findWallet(services, id);
  if (!wallet) return [];
  const params = { workspace_id: id };
  const { account, ledger } = services;
  const transfers = await readPages('transfers', (after) => account.listTransfers({ params: { ...params, after } }));
  // The region names a credit by its cause, with a step behind it.
  const causes = new Set(transfers.map(({ source }) => source));
  const credits = await readPages('credits', (after) =>
    ledger.listCredits({ params: { ...params, after: after || undefined } }),
  );
  const givenHere = credits
    .filter(
      ({ credit_id: credit }) => !causes.has(credit) && !causes.has(credit.replace(/_(rest|back|as_booked)$/, '')),
    )
    .reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0n);
  const { credited_nano_usd: credited, spent_nano_usd: spent } = await readBalances(services, id);
  const atFirst = spentAtFirst.get(id) ?? spent;
  spentAtFirst.set(id, atFirst);
  return [
    {
      workspaceId: id,
      wallet: wallet.balance_nano_usd,
      givenHere,
      region: credited - spent,
      agrees:
        wallet.credited_nano_usd + givenHere === credited &&
        wallet.spent_nano_usd >= atFirst &&
        wallet.spent_nano_usd <= spent,
    },
  ];
}

async function findWallet({ account }: Services, id: string) {
  try {
    return await account.getWallet({ params: { workspace_id: id } });
  } catch (error) {
    if (isRefusal(error, controlPlaneApi.routes.getWallet, 'workspace_not_found')) return undefined;
    throw error;
  }
}
