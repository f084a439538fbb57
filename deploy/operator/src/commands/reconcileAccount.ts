import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { InternalCallError, isRefusal } from '@turnpike/internal-api/transport/createClient';
import { toMoneyCell, toUsdCell } from '../report/cells.ts';
import type { Services } from '../stack/createServices.ts';
import { compareWallets, differenceOf, toWalletDocument } from '../stack/walletComparison.ts';

/** The first comparison with the processor reads every movement there was. */
const TIMEOUT_MS = 10 * 60 * 1_000;

/** The books of the account layer beside those of a region and of the payment processor. */
export interface ReconciledAccount {
  agree: boolean;
  document: object | null;
  /** Rows as those of `turnpike reconcile`: workspace, check, left, right, difference, and whether they are equal. */
  rows: [workspace: string, check: string, left: string, right: string, difference: string, isEqual: boolean][];
  lines: string[];
}

const WALLET = 'balance: account layer = region';

/** Compares the wallets of all workspaces and the money at the processor, or the wallet of one workspace. */
export async function reconcileAccount(
  services: Services,
  { workspace, waitSeconds }: { workspace: string | undefined; waitSeconds: number | undefined },
): Promise<ReconciledAccount> {
  if (!services.hasAccount) return { agree: true, document: null, rows: [], lines: [] };
  try {
    const wallets = await compareWallets(services, { workspace, waitSeconds });
    const differing = wallets.filter(({ agrees }) => !agrees);
    const payments = workspace === undefined ? await comparePayments(services) : undefined;
    return {
      agree: differing.length === 0 && (payments?.differences ?? []).length === 0,
      document: { wallets: wallets.map(toWalletDocument), payments: payments ?? null },
      rows: [
        ...differing.map((each): ReconciledAccount['rows'][number] => [
          each.workspaceId,
          WALLET,
          ...([each.wallet + each.givenHere, each.region, differenceOf(each)].map(toUsdCell) as [
            string,
            string,
            string,
          ]),
          false,
        ]),
        ...(payments?.differences ?? []).map(
          ({ source, currency, theirs_cents: theirs, ours_cents: ours }): ReconciledAccount['rows'][number] => [
            'all',
            `${source ?? 'a movement'}: processor = books`,
            toMoneyCell(theirs, currency),
            toMoneyCell(ours, currency),
            toMoneyCell((theirs ?? 0) - (ours ?? 0), currency),
            false,
          ],
        ),
      ],
      lines: [
        `  Wallets of the account layer: ${wallets.length}, of which ${differing.length} differ.`,
        ...(payments ? [`  Movements at the payment processor that differ: ${payments.differences.length}.`] : []),
      ],
    };
  } catch (error) {
    if (!(error instanceof InternalCallError)) throw error;
    const why = `the account layer was not compared, because ${error.message}`;
    return { agree: false, document: { not_decided: why }, rows: [], lines: [`  Not decided: ${why}.`] };
  }
}

/** Undefined where the stack has no account at a payment processor. */
async function comparePayments({ account }: Services) {
  try {
    return await account.comparePayments({ params: {}, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (isRefusal(error, controlPlaneApi.routes.comparePayments, 'billing_not_provisioned')) return undefined;
    throw error;
  }
}
