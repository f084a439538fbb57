import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { keyId } from '../cli/fields.ts';
import { toPrintable } from '../report/formatTable.ts';
import { toKeyDocument, toShownKey } from '../stack/keyDetails.ts';

/** Final, so whoever does it says that they mean it. */
export const endOldSecret = defineCommand({
  words: 'keys end-old',
  summary: 'end the old secret of a key that was rotated, from its next call on; the new one works on',
  operands: { keyId: 'KEY_ID' },
  options: { yes: { help: 'do not ask for a confirmation' } },
  input: z.object({ keyId, yes: z.boolean().default(false) }),
  async run({ keyId: id, yes }, { services, confirm }) {
    if (!yes) {
      const { key, name, old_secret: old } = toShownKey(await services.auth.getKey({ params: { key_id: id } }));
      const question = `Calls with ${old?.key ?? 'an old secret'} of "${toPrintable(name)}" fail from now on; ${key} works on. Type ${id} to do it: `;
      await confirm(question, id);
    }
    const key = toShownKey(await services.auth.endOldSecret({ params: { key_id: id } }));
    return { document: toKeyDocument(key), text: `${key.old_secret?.key} of ${id} has ended; ${key.key} works on.` };
  },
});
