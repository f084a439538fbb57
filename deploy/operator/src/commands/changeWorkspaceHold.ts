import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

const operands = { workspaceId: 'WS' };
const input = z.object({ workspaceId });

export const holdWorkspace = defineCommand({
  words: 'workspaces hold',
  summary: 'refuse every call of a workspace, from its next one on',
  operands,
  options: { yes: { help: 'do not ask for a confirmation' } },
  input: input.extend({ yes: z.boolean().default(false) }),
  async run({ workspaceId: id, yes }, { services, confirm }) {
    const params = { workspace_id: id };
    const { name } = await services.auth.getWorkspace({ params });
    if (!yes) await confirm(`This refuses every call of ${id} (${name}). Type ${id} to do it: `, id);
    const workspace = await services.auth.holdWorkspace({ params });
    const text = `${id} is ${workspace.billing_status}: its calls get 402 from the next one on.`;
    return { document: toWorkspaceDocument(workspace), text };
  },
});

export const releaseWorkspace = defineCommand({
  words: 'workspaces release',
  summary: 'serve a workspace on hold again, within 5 s',
  operands,
  input,
  async run({ workspaceId: id }, { services }) {
    const workspace = await services.auth.releaseWorkspace({ params: { workspace_id: id } });
    return { document: toWorkspaceDocument(workspace), text: `${id} is ${workspace.billing_status}.` };
  },
});
