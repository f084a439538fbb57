import { fileURLToPath } from 'node:url';

/** The folder this copy of the repository lies in, without a trailing slash. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
