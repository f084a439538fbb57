import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes the secret that signs the webhooks of a workspace, as the Standard Webhooks specification writes it. */
export const newWebhookSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** Returns the headers of a webhook by the Standard Webhooks specification: an id, which stays at a retry, a time and a signature. */
export function signWebhook({ id, body, secret }: { id: string; body: string; secret: string }, now: Date) {
  const seconds = Math.floor(now.getTime() / 1_000);
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'Turnpike',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
}
