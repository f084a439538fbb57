import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

async function change(id: string, how: 'holdWorkspace' | 'releaseWorkspace', { services }: Context): Promise<Report> {
  const workspace = await services.auth[how]({ params: { workspace_id: id } });
  return { document: toWorkspaceDocument(workspace), text: `${id} is ${workspace.billing_status}.` };
}

const operands = { workspaceId: 'WS' };
const input = z.object({ workspaceId });

export const holdWorkspace = defineCommand({
  words: 'workspaces hold',
  summary: 'refuse every call of a workspace, from its next one on',
  operands,
  input,
  run: ({ workspaceId: id }, context) => change(id, 'holdWorkspace', context),
});

export const releaseWorkspace = defineCommand({
  words: 'workspaces release',
  summary: 'serve a workspace on hold again, within 5 s',
  operands,
  input,
  run: ({ workspaceId: id }, context) => change(id, 'releaseWorkspace', context),
});
