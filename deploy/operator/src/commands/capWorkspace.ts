import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { usd, workspaceId } from '../cli/fields.ts';
import { toUsdCell } from '../report/amounts.ts';
import { toWorkspaceDocument, workspaceSchema } from '../stack/workspace.ts';

const NO_CAP = z.literal('none').transform(() => null);

export const capWorkspace = defineCommand({
  words: 'workspaces cap',
  summary: 'set what a workspace may spend a month; none lifts the cap',
  operands: { workspaceId: 'WS', cap: 'USD|none' },
  input: z.object({ workspaceId, cap: z.union([NO_CAP, usd], 'must be dollars, as in 12.5, or none') }),
  async run({ workspaceId: id, cap }, { services }) {
    const path = `/internal/workspaces/${id}/cap`;
    const body = { monthly_cap_nano_usd: cap?.toString() ?? null };
    const workspace = await services.call({ service: 'auth', method: 'PUT', path, body }, workspaceSchema);
    return {
      document: toWorkspaceDocument(workspace),
      text: cap === null ? `${id} has no monthly cap.` : `${id} may spend ${toUsdCell(cap)} USD a month.`,
    };
  },
});
