import type { Services } from './createServices.ts';

/** What a workspace was credited, spent, and spent in this month (UTC), by the calls that are recorded. */
export async function readBalances({ ledger }: Pick<Services, 'ledger'>, workspaceId: string) {
  const month = new Date().toISOString().slice(0, 7);
  return { month, ...(await ledger.getBalances({ params: { workspace_id: workspaceId, month } })) };
}
