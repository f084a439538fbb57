import { ENGINE_CONTROL_KEYS, SEED_TOO_LARGE } from '@turnpike/public-api/requestFields';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';

/** Throws `invalid_request` naming the first key of the body that no client may set (decisions, Order of the gates). */
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
  const isObject = typeof value === 'object' && !Array.isArray(value);
  if (isObject && Object.keys(value).every((key) => key === 'enable_thinking')) {
    const { enable_thinking: isOn } = value as { enable_thinking?: unknown };
    if (isOn === undefined || isOn === null) return undefined;
    if (typeof isOn === 'boolean') return { enable_thinking: isOn };
  }
  throw invalidRequest('chat_template_kwargs', 'chat_template_kwargs may hold only enable_thinking, true or false');
}

const WHOLE_NUMBER = /^-?\d+$/;

/**
 * Throws `invalid_request` for a seed of more than 64 bits, by the digits the client wrote: as a double, the first seed
 * too large looks like the last that is not.
 */
export function refuseSeedBeyond64Bits({ members, bytes }: Pick<JsonBody, 'members' | 'bytes'>): void {
  const seed = members.findLast(({ key }) => key === 'seed');
  if (!seed) return;
  const digits = bytes.toString('utf8', seed.valueStart, seed.end).trim();
  if (WHOLE_NUMBER.test(digits) && BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits))
    throw invalidRequest('seed', `seed ${SEED_TOO_LARGE}`);
}
