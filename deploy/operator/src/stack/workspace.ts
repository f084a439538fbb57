import type { workspaceSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { toAmountFields } from '../report/amounts.ts';
import type { Services } from './createServices.ts';

/** A workspace as `--json` shows it. How often it was changed is the gate's business. */
export function toWorkspaceDocument(workspace: z.output<typeof workspaceSchema>): object {
  const { monthly_cap_nano_usd: monthlyCap, account_cap_nano_usd: accountCap, version: _version, ...shown } = workspace;
  return { ...shown, ...toAmountFields('monthly_cap', monthlyCap), ...toAmountFields('account_cap', accountCap) };
}

/** Credit and spend of a workspace, in all and in this month (UTC), by the recorded calls. */
export async function readBalances({ ledger }: Pick<Services, 'ledger'>, workspaceId: string) {
  const month = new Date().toISOString().slice(0, 7);
  return { month, ...(await ledger.getBalances({ params: { workspace_id: workspaceId, month } })) };
}
