import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { durationSeconds, keyId } from '../cli/fields.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';

const LONGEST_GRACE_SECONDS = 90 * 86_400;
const NOT_TOLD =
  'The gate was not told: it may take the old secret for up to 30 s after its end. Do not rotate again; the key is as shown.';

/** Makes the new secret on this machine and prints it once, like `keys create`. */
export const rotateKey = defineCommand({
  words: 'keys rotate',
  summary: 'give a key a new secret and print it, once; the old one works on for a while',
  operands: { keyId: 'KEY_ID' },
  options: {
    grace: { value: 'TIME', help: 'how long the old secret goes on working: 30m, 24h (if not given), at most 90d' },
  },
  input: z.object({
    keyId,
    grace: durationSeconds.refine((seconds) => seconds <= LONGEST_GRACE_SECONDS, 'must be at most 90d').prefault('24h'),
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
        table(KEY_COLUMNS, [newKey, oldKey].map(toKeyRow)),
        '',
        'Limits, budget and history stay with the key. This is its new secret; it is not shown again:',
        '',
        `  ${apiKey}`,
        ...(isGateTold ? [] : ['', NOT_TOLD]),
      ].join('\n'),
    };
  },
});
