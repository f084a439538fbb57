import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';

/** Modules are compiled once for all processes of this copy, which takes seconds off every later start of a stack. */
export const NODE_COMPILE_CACHE = join(repositoryRoot, '.turnpike', 'compile-cache');

/**
 * The environment every part starts from. Built, not inherited: a variable that happens to be set in a terminal or a test
 * run must not change what a service does. What may be handed on is listed in `observation.ts`.
 */
export function toPartEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '/', TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR !== undefined && { TMPDIR }),
    NODE_COMPILE_CACHE,
  };
}
