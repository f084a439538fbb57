import { createHmac } from 'node:crypto';

/** Returns the header `stripe-signature` of a body: HMAC-SHA-256 over its time and bytes. */
export function signPayload(body: string, secret: string, atSeconds: number): string {
  const signature = createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex');
  return `t=${atSeconds},v1=${signature}`;
}
