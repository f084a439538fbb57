import { randomUUID } from 'node:crypto';

/** What all parts of one answer share. */
export interface AnswerIdentity {
  id: string;
  /** Unix time in seconds. */
  created: number;
}

const ID_PREFIXES = { chat: 'chatcmpl', completions: 'cmpl' };

/** The identity an engine gave its answer; what it left out, or wrote in another form, is made up for. */
export function readIdentity(
  { id, created }: Record<string, unknown>,
  operation: keyof typeof ID_PREFIXES,
): AnswerIdentity {
  return {
    id: typeof id === 'string' && id !== '' ? id : `${ID_PREFIXES[operation]}-${randomUUID()}`,
    created: Number.isSafeInteger(created) && Number(created) >= 0 ? Number(created) : Math.floor(Date.now() / 1_000),
  };
}
