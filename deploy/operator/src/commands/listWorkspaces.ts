import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';
import { toWorkspaceDocument, workspaceSchema } from '../stack/workspace.ts';

const pageSchema = z
  .object({ workspaces: z.array(workspaceSchema), next_after: z.string().nullable() })
  .transform(({ workspaces, next_after: nextAfter }) => ({ entries: workspaces, nextAfter }));

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
    const path = '/internal/workspaces?after=';
    const workspaces = await readPages((after) =>
      services.call({ service: 'auth', method: 'GET', path: path + encodeURIComponent(after) }, pageSchema),
    );
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
