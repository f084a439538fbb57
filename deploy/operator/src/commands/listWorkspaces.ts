import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'organization' },
  { title: 'name' },
  { title: 'billing' },
  { title: 'monthly cap USD', isNumber: true },
];

export const listWorkspaces = defineCommand({
  words: 'workspaces list',
  summary: 'every workspace of the region',
  input: z.object({}),
  async run(_input, { services, table }) {
    const workspaces = await readPages(async (after) => {
      const page = await services.auth.listWorkspaces({ params: { after } });
      return { entries: page.workspaces, nextAfter: page.next_after };
    });
    const rows = workspaces.map((workspace) => [
      workspace.workspace_id,
      workspace.organization_id,
      workspace.name,
      workspace.billing_status,
      toUsdCell(workspace.monthly_cap_nano_usd),
    ]);
    return {
      document: { workspaces: workspaces.map(toWorkspaceDocument) },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no workspaces.',
    };
  },
});
