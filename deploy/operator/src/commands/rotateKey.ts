import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { durationSeconds, keyId } from '../cli/fields.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';

const LONGEST_GRACE_SECONDS = 90 * 86_400;
const NOT_TOLD =
  'The gate was not told: it may take the old key for up to 30 s after its end. Do not rotate again; the keys are as shown.';

/** As with a new key, the key is made here and printed once. */
export const rotateKey = defineCommand({
  words: 'keys rotate',
  summary: 'make a key in place of another; both work until the old one ends',
  operands: { keyId: 'KEY_ID' },
  options: {
    grace: { value: 'TIME', help: 'how long the old key goes on working: 30m, 24h (if not given), at most 90d' },
  },
  input: z.object({
    keyId,
    grace: durationSeconds.refine((seconds) => seconds <= LONGEST_GRACE_SECONDS, 'must be at most 90d').prefault('24h'),
  }),
  async run({ keyId: oldKeyId, grace }, { services, table }) {
    const apiKey = generateApiKey();
    const body = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), grace_seconds: grace };
    const answer = await services.auth.rotateKey({ params: { key_id: oldKeyId }, body });
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
        table(KEY_COLUMNS, [newKey, oldKey].map(toKeyRow)),
        '',
        'The new key has the limits of the old one; a budget starts anew with it. This is the key; it is not shown again:',
        '',
        `  ${apiKey}`,
        ...(isGateTold ? [] : ['', NOT_TOLD]),
      ].join('\n'),
    };
  },
});
