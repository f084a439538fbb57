import { StackError } from './stackError.ts';

const DEFAULT_PORT_BASE = 8080;
const LOWEST = 1024;
/** Leaves room above for every part's port. */
const HIGHEST = 65_000;

/** The first port of a stack, from the variable PORT_BASE; 8080 where it is not set. Throws a `StackError` on anything else. */
export function parsePortBase(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT_BASE;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= LOWEST && port <= HIGHEST) return port;
  throw new StackError(
    `PORT_BASE is "${text.slice(0, 32)}", but it has to be a whole number from ${LOWEST} to ${HIGHEST}: the first of the stack's ports, as in PORT_BASE=${DEFAULT_PORT_BASE}.`,
  );
}
