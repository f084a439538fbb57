import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';
import { readPages } from '../stack/readPages.ts';

export const listKeys = defineCommand({
  words: 'keys list',
  summary: 'the keys of a workspace, revoked and expired ones too',
  options: { workspace: { value: 'WS', help: 'whose keys' } },
  input: z.object({ workspace: workspaceId }),
  async run({ workspace }, { services, table }) {
    const keys = await readPages(async (after) => {
      const page = await services.auth.listKeys({ params: { workspace_id: workspace, after } });
      return { entries: page.keys.map(toShownKey), nextAfter: page.next_after };
    });
    keys.sort((a, b) => a.created_at.localeCompare(b.created_at));
    return {
      document: { workspace_id: workspace, keys: keys.map(toKeyDocument) },
      text: keys.length > 0 ? table(KEY_COLUMNS, keys.map(toKeyRow)) : `${workspace} has no keys.`,
    };
  },
});
