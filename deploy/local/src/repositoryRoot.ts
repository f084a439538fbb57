import { fileURLToPath } from 'node:url';

/** The folder of this copy of the repository, without a trailing slash. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
