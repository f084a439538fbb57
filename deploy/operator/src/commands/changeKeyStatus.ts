import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { keyId } from '../cli/fields.ts';
import { toPrintable } from '../report/formatTable.ts';
import { toShownKey } from '../stack/keyDetails.ts';

async function change(
  id: string,
  how: 'revokeKey' | 'blockKey' | 'unblockKey',
  { services }: Context,
): Promise<Report> {
  const answer = await services.auth[how]({ params: { key_id: id } });
  return { document: answer, text: `${answer.key_id} is ${answer.status}.` };
}

const operands = { keyId: 'KEY_ID' };

/** Final, so whoever does it says that they mean it. */
export const revokeKey = defineCommand({
  words: 'keys revoke',
  summary: 'end a key for good, from its next call on',
  operands,
  options: { yes: { help: 'do not ask for a confirmation' } },
  input: z.object({ keyId, yes: z.boolean().default(false) }),
  async run({ keyId: id, yes }, context) {
    if (!yes) {
      const found = await context.services.auth.getKey({ params: { key_id: id } });
      const { key, name, workspace_id: workspaceId } = toShownKey(found);
      const question = `This ends ${key} "${toPrintable(name)}" of ${workspaceId} for good. Type ${id} to do it: `;
      await context.confirm(question, id);
    }
    return change(id, 'revokeKey', context);
  },
});

export const blockKey = defineCommand({
  words: 'keys block',
  summary: 'keep a key out until it is unblocked, from its next call on',
  operands,
  input: z.object({ keyId }),
  run: ({ keyId: id }, context) => change(id, 'blockKey', context),
});

export const unblockKey = defineCommand({
  words: 'keys unblock',
  summary: 'let a blocked key in again, within 5 s',
  operands,
  input: z.object({ keyId }),
  run: ({ keyId: id }, context) => change(id, 'unblockKey', context),
});
