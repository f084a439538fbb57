import { StackError } from '../stackError.ts';

const MAX_SHOWN = 100;

/**
 * Reads the address that `--engine` names, of a server that speaks the public chat API, with or without `/v1`. Throws a
 * `StackError` on anything else; a password in an address is not repeated.
 */
export function parseEngineUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw refuse(`--engine ${JSON.stringify(text.slice(0, MAX_SHOWN))} is no http(s) address.`);
  if (url.username !== '' || url.password !== '')
    throw refuse(`--engine ${url.origin} comes with a user or a password, which an engine is never sent.`);
  if (!/^\/(v1\/?)?$/.test(url.pathname) || url.search !== '' || url.hash !== '')
    throw refuse(`--engine ${url.href.slice(0, MAX_SHOWN)} names more than a host and a port.`);
  return url.origin;
}

/** Throws a `StackError` if an address stands twice: its engine would count as two. */
export function refuseSameEngineTwice(urls: string[]): void {
  const repeated = urls.find((url, index) => urls.indexOf(url) !== index);
  if (repeated !== undefined) throw new StackError(`--engine ${repeated} stands twice. Name each engine once.`);
}

function refuse(problem: string): StackError {
  return new StackError(`${problem} Give --engine http://host:port.`);
}
