import { createHmac } from 'node:crypto';

/** A signature as it should be, of another secret, or of another time. */
export type SignatureKind = 'right' | 'forged' | 'old' | 'future';

/** Seconds by which an old or a future signature is off: more than the client's tolerance of 300. */
const OFF_SECONDS = 400;
const SHIFTS: Record<SignatureKind, number> = { right: 0, forged: 0, old: -OFF_SECONDS, future: OFF_SECONDS };

/** Returns the header `stripe-signature` of a kind, as of now. */
export function signAs(kind: SignatureKind, body: string, secret: string): string {
  const atSeconds = Math.floor(Date.now() / 1_000) + SHIFTS[kind];
  return signPayload(body, kind === 'forged' ? `${secret}_of_another` : secret, atSeconds);
}

/** Returns the header `stripe-signature` of a body: HMAC-SHA-256 over its time and bytes. */
function signPayload(body: string, secret: string, atSeconds: number): string {
  const signature = createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex');
  return `t=${atSeconds},v1=${signature}`;
}
