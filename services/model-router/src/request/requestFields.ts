import { ENGINE_CONTROL_KEYS, SEED_TOO_LARGE } from '@turnpike/public-api/requestFields';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';

/** Throws `invalid_request` naming the first key of the body that no client may set. */
export function refuseEngineControlKeys(value: Record<string, unknown>): void {
  for (const key of Object.keys(value)) {
    if (ENGINE_CONTROL_KEYS.has(key) && value[key] !== null) throw invalidRequest(key, `${key} is not supported`);
  }
}

/**
 * The one switch that a client may set for the chat template. Throws `invalid_request` for any other: a template's variables
 * are the operator's.
 */
export function readTemplateSwitch({ chat_template_kwargs: value }: Record<string, unknown>): object | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object' && !Array.isArray(value)) {
    const given = Object.entries(value).filter(([, each]) => each !== null);
    if (given.length === 0) return undefined;
    const [[key, isOn] = [], ...others] = given;
    if (others.length === 0 && key === 'enable_thinking' && typeof isOn === 'boolean') return { enable_thinking: isOn };
  }
  throw invalidRequest('chat_template_kwargs', 'chat_template_kwargs may hold only enable_thinking, true or false');
}

/** Least `top_p` that engines take, because their range excludes 0. */
const LEAST_TOP_P = 1e-9;

/** Returns the member that replaces a `top_p` of 0, and none for other values, which keep the client's digits. */
export const leastTopP = (topP: number | undefined): { top_p?: number } => (topP === 0 ? { top_p: LEAST_TOP_P } : {});

const WHOLE_NUMBER = /^-?\d+$/;

/**
 * Throws `invalid_request` for a seed of more than 64 bits. Compares the client's digits, because as doubles the first
 * seed too large equals the last allowed one.
 */
export function refuseSeedBeyond64Bits({ members, bytes }: Pick<JsonBody, 'members' | 'bytes'>): void {
  for (const { key, valueStart, end } of members) {
    if (key !== 'seed') continue;
    const digits = bytes.toString('utf8', valueStart, end).trim();
    if (WHOLE_NUMBER.test(digits) && BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits))
      throw invalidRequest('seed', `seed ${SEED_TOO_LARGE}`);
  }
}
