import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { z } from 'zod';
import { type Command, type Context, defineCommand, type Report } from '../cli/command.ts';
import { durationSeconds, keyId, option, YES } from '../cli/fields.ts';
import { tabulate } from '../report/entries.ts';
import { toPrintable } from '../report/formatTable.ts';
import { KEY_COLUMNS, toKeyDocument, toShownKey } from '../stack/keyDetails.ts';

const LONGEST_GRACE_SECONDS = 90 * 86_400;
const NOT_TOLD =
  'The gate was not told: it may take the old secret for up to 30 s after its end. Do not rotate again; the key is as shown.';

async function change(
  id: string,
  how: 'revokeKey' | 'blockKey' | 'unblockKey',
  { services }: Context,
): Promise<Report> {
  const answer = await services.auth[how]({ params: { key_id: id } });
  return { document: answer, text: `${answer.key_id} is ${answer.status}.` };
}

/** Makes the new secret on this machine and prints it once, like `keys create`. */
export const rotateKey = defineCommand({
  words: 'keys rotate',
  summary: 'give a key a new secret and print it, once; the old one works on for a while',
  input: z.object({
    keyId,
    grace: option(
      'TIME',
      'how long the old secret goes on working: 30m, 24h (if not given), at most 90d',
      durationSeconds.refine((length) => length <= LONGEST_GRACE_SECONDS, 'must be at most 90d').prefault('24h'),
    ),
  }),
  async run({ keyId: id, grace }, { services, table }) {
    const apiKey = generateApiKey();
    const body = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), grace_seconds: grace };
    const answer = await services.auth.rotateKey({ params: { key_id: id }, body });
    const [newKey, oldKey] = [toShownKey(answer.new_key), toShownKey(answer.old_key)];
    const isGateTold = answer.gate_told;
    return {
      document: {
        api_key: apiKey,
        new_key: toKeyDocument(newKey),
        old_key: toKeyDocument(oldKey),
        gate_told: isGateTold,
      },
      text: [
        tabulate(table, KEY_COLUMNS, [newKey, oldKey]),
        '',
        'Limits, budget and history stay with the key. This is its new secret; it is not shown again:',
        '',
        `  ${apiKey}`,
        ...(isGateTold ? [] : ['', NOT_TOLD]),
      ].join('\n'),
    };
  },
});

export const keySecretCommands: Command[] = [
  rotateKey,
  defineCommand({
    words: 'keys end-old',
    summary: 'end the old secret of a key that was rotated, from its next call on; the new one works on',
    input: z.object({ keyId, yes: YES }),
    async run({ keyId: id, yes }, { services, confirm }) {
      if (!yes) {
        const { key, name, old_secret: old } = toShownKey(await services.auth.getKey({ params: { key_id: id } }));
        const question = `Calls with ${old?.key ?? 'an old secret'} of "${toPrintable(name)}" fail from now on; ${key} works on. Type ${id} to do it: `;
        await confirm(question, id);
      }
      const key = toShownKey(await services.auth.endOldSecret({ params: { key_id: id } }));
      return { document: toKeyDocument(key), text: `${key.old_secret?.key} of ${id} has ended; ${key.key} works on.` };
    },
  }),
  defineCommand({
    words: 'keys block',
    summary: 'keep a key out until it is unblocked, from its next call on',
    input: z.object({ keyId }),
    run: ({ keyId: id }, context) => change(id, 'blockKey', context),
  }),
  defineCommand({
    words: 'keys unblock',
    summary: 'let a blocked key in again, within 5 s',
    input: z.object({ keyId }),
    run: ({ keyId: id }, context) => change(id, 'unblockKey', context),
  }),
  defineCommand({
    words: 'keys revoke',
    summary: 'end a key for good, from its next call on',
    input: z.object({ keyId, yes: YES }),
    async run({ keyId: id, yes }, context) {
      if (!yes) {
        const found = await context.services.auth.getKey({ params: { key_id: id } });
        const { key, name, workspace_id: workspaceId } = toShownKey(found);
        const question = `This ends ${key} "${toPrintable(name)}" of ${workspaceId} for good. Type ${id} to do it: `;
        await context.confirm(question, id);
      }
      return change(id, 'revokeKey', context);
    },
  }),
];
