import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';
import { readPages } from '../stack/readPages.ts';

export const findKeys = defineCommand({
  words: 'keys find',
  summary:
    'the keys, of whichever workspace, that end as one that a customer tells of: sk-...5Oeo, or its last four characters',
  operands: { lastFour: 'KEY' },
  input: z.object({
    // Only the last four characters count, also of a whole key, which customers should not send.
    lastFour: z
      .string()
      .regex(/^(sk-\S*)?[0-9A-Za-z]{4}$/, 'must end as the key does, as in sk-...5Oeo or 5Oeo')
      .transform((text) => text.slice(-4)),
  }),
  async run({ lastFour }, { services, table }) {
    const keys = await readPages(async (after) => {
      const page = await services.auth.findKeys({ params: { last_four: lastFour, after } });
      return { entries: page.keys.map(toShownKey), nextAfter: page.next_after };
    });
    const rows = keys.map((key) => [key.workspace_id, ...toKeyRow(key)]);
    return {
      document: { keys: keys.map(toKeyDocument) },
      text:
        rows.length > 0 ? table([{ title: 'workspace' }, ...KEY_COLUMNS], rows) : `No key ends in ${lastFour} here.`,
    };
  },
});
