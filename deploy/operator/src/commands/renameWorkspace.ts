import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { displayName, workspaceId } from '../cli/fields.ts';
import { toPrintable } from '../report/formatTable.ts';
import { toWorkspaceDocument } from '../stack/workspace.ts';

export const renameWorkspace = defineCommand({
  words: 'workspaces rename',
  summary: 'give a workspace another name; one of the account layer is renamed in the dashboard',
  operands: { workspaceId: 'WS', name: 'NAME' },
  input: z.object({ workspaceId, name: displayName }),
  async run({ workspaceId: id, name }, { services }) {
    const workspace = await services.auth.renameWorkspace({ params: { workspace_id: id }, body: { name } });
    return { document: toWorkspaceDocument(workspace), text: `${id} is called "${toPrintable(workspace.name)}".` };
  },
});
