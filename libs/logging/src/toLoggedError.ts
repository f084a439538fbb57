import { isIP } from 'node:net';

const MAX_MESSAGE_LENGTH = 256;
/** Characters that addresses are written with, ports included. */
const ADDRESS_CHARACTERS = /[0-9a-f.:[\]]+/gi;
/** Before the names of hosts, as the system and database clients word it. */
const HOST_NAME = /\b(ENOTFOUND|EAI_AGAIN|server at) [^\s,]+/g;

/**
 * The loggable part of an error: name, message and code, and those of its cause. Never a stack, which could quote a body,
 * and no internal address: the line itself says which dependency it was.
 */
export function toLoggedError(error: unknown): object {
  if (!(error instanceof Error)) return { message: hideAddresses(String(error)) };
  const cause = error.cause === undefined ? undefined : toLoggedError(error.cause);
  const code = 'code' in error ? String(error.code) : undefined;
  // The frames of a stack are safe to log (our own file names); its message line is left out.
  const at = error.stack
    ?.split('\n')
    .find((line) => line.includes('/src/'))
    ?.trim();
  return { name: error.name, message: hideAddresses(error.message).slice(0, MAX_MESSAGE_LENGTH), code, at, cause };
}

const hideAddresses = (text: string): string =>
  text.replace(HOST_NAME, '$1 <address>').replace(ADDRESS_CHARACTERS, (word) => (isAddress(word) ? '<address>' : word));

/** `127.0.0.1`, `127.0.0.1:6379`, `::1`, `::1:6379` and `[::1]:6379`, also where a sentence ends behind it. */
function isAddress(word: string): boolean {
  const bare = word.replace(/[.:]$/, '').replace(/^\[(.*)\](?::\d+)?$/, '$1');
  return isIP(bare) !== 0 || isIP(bare.replace(/:\d+$/, '')) !== 0;
}
