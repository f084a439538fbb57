import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { KEY_COLUMNS, keyDetailsSchema, toKeyDocument, toKeyRow } from '../stack/keyDetails.ts';
import { readPages } from '../stack/readPages.ts';

const pageSchema = z
  .object({ keys: z.array(keyDetailsSchema), next_after: z.string().nullable() })
  .transform(({ keys, next_after: nextAfter }) => ({ entries: keys, nextAfter }));

export const listKeys = defineCommand({
  words: 'keys list',
  summary: 'the keys of a workspace, revoked and expired ones too',
  options: { workspace: { value: 'WS', help: 'whose keys' } },
  input: z.object({ workspace: workspaceId }),
  async run({ workspace }, { services, table }) {
    const path = `/internal/workspaces/${workspace}/keys?after=`;
    const keys = await readPages((after) =>
      services.call({ service: 'auth', method: 'GET', path: path + encodeURIComponent(after) }, pageSchema),
    );
    keys.sort((a, b) => a.created_at.localeCompare(b.created_at));
    return {
      document: { workspace_id: workspace, keys: keys.map(toKeyDocument) },
      text: keys.length > 0 ? table(KEY_COLUMNS, keys.map(toKeyRow)) : `${workspace} has no keys.`,
    };
  },
});
