import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import { formatTable } from '../report/formatTable.ts';
import { readBalances, toWorkspaceDocument } from '../stack/workspace.ts';

export const showWorkspace = defineCommand({
  words: 'workspaces show',
  summary: 'a workspace and what it has left, by the calls that are recorded',
  operands: { workspaceId: 'WS' },
  input: z.object({ workspaceId }),
  async run({ workspaceId: id }, { services }) {
    const [workspace, balances] = await Promise.all([
      services.auth.getWorkspace({ params: { workspace_id: id } }),
      readBalances(services, id),
    ]);
    const { month, credited_nano_usd: credited, spent_nano_usd: spent, month_spent_nano_usd: monthSpent } = balances;
    const rows = [
      ['id', workspace.workspace_id],
      ['organization', workspace.organization_id],
      ['name', workspace.name],
      ['region', workspace.region],
      ['billing', workspace.billing_status],
      ['account layer', workspace.account_status ?? 'does not know it'],
      ['credited USD', toUsdCell(credited)],
      ['spent USD', toUsdCell(spent)],
      ['left USD', toUsdCell(credited - spent)],
      ['monthly cap USD', toUsdCell(workspace.monthly_cap_nano_usd)],
      ['cap of the account layer USD', toUsdCell(workspace.account_cap_nano_usd)],
      [`spent in ${month} USD`, toUsdCell(monthSpent)],
    ];
    return {
      document: {
        ...toWorkspaceDocument(workspace),
        ...toAmountFields('credited', credited),
        ...toAmountFields('spent', spent),
        ...toAmountFields('left', credited - spent),
        month,
        ...toAmountFields('month_spent', monthSpent),
      },
      text: formatTable(rows),
    };
  },
});
