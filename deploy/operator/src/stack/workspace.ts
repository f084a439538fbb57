import type { workspaceSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { withAmounts } from '../report/entries.ts';
import type { Services } from './createServices.ts';

/** A workspace as `--json` shows it. How often it was changed is the gate's business. */
export const toWorkspaceDocument = ({ version: _version, ...shown }: z.output<typeof workspaceSchema>): object =>
  withAmounts(shown);

/** Credit and spend of a workspace, in all and in this month (UTC), by the recorded calls. */
export async function readBalances({ ledger }: Pick<Services, 'ledger'>, workspaceId: string) {
  const month = new Date().toISOString().slice(0, 7);
  return { month, ...(await ledger.getBalances({ params: { workspace_id: workspaceId, month } })) };
}
