import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { usd, workspaceId } from '../cli/fields.ts';
import { toUsdCell } from '../report/amounts.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

export const capWorkspace = defineCommand({
  words: 'workspaces cap',
  summary: 'set what a workspace may spend a month; none lifts the cap',
  operands: { workspaceId: 'WS', cap: 'USD|none' },
  input: z.object({ workspaceId, cap: z.preprocess((text) => (text === 'none' ? null : text), usd.nullable()) }),
  async run({ workspaceId: id, cap }, { services }) {
    const body = { monthly_cap_nano_usd: cap?.toString() ?? null };
    const workspace = await services.auth.capWorkspace({ params: { workspace_id: id }, body });
    return {
      document: toWorkspaceDocument(workspace),
      text: cap === null ? `${id} has no monthly cap.` : `${id} may spend ${toUsdCell(cap)} USD a month.`,
    };
  },
});
