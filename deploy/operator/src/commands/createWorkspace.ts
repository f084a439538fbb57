import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { displayName, organizationId, usd, workspaceId } from '../cli/fields.ts';
import { toPrintable } from '../report/formatTable.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

/** Never changes a workspace that is there. Without credit it can spend nothing, so the answer says how it gets some. */
export const createWorkspace = defineCommand({
  words: 'workspaces create',
  summary: 'make a workspace, which pays for what its keys do',
  operands: { workspaceId: 'WS' },
  options: {
    name: { value: 'NAME', help: 'what people call it' },
    organization: {
      value: 'ORG',
      help: 'the customer it belongs to, with one workspace in a region; org_acme for ws_acme',
    },
    cap: { value: 'USD', help: 'the most it may spend a month, as in 12.5; no cap if not given' },
  },
  input: z.object({
    workspaceId,
    name: displayName,
    organization: organizationId.optional(),
    cap: usd.optional(),
  }),
  async run({ workspaceId: id, name, organization = id.replace(/^ws_/, 'org_'), cap }, { services }) {
    const body = {
      workspace_id: id,
      organization_id: organization,
      name,
      billing_status: 'active' as const,
      monthly_cap_nano_usd: cap?.toString() ?? null,
    };
    const workspace = await services.auth.createWorkspace({ body });
    return {
      document: toWorkspaceDocument(workspace),
      text: [
        `Made ${id} "${toPrintable(workspace.name)}" of ${workspace.organization_id}.`,
        `Next it needs something to spend and a key: "turnpike credit add ${id} 25 --id ID", "turnpike keys create --workspace ${id}".`,
      ].join('\n'),
    };
  },
});
