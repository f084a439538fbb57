import { makePythonOnce } from '@turnpike/local-stack/tools/makePythonOnce';

const VERSION = '1.100.4';

/** A Python that has LiteLLM's proxy: installed once per machine from PyPI into the user's cache. */
export const ensureLitellm = (say: (line: string) => void): Promise<string> =>
  makePythonOnce(`litellm-${VERSION}`, {
    packages: [`litellm[proxy]==${VERSION}`],
    prepare: () => say('installing LiteLLM’s proxy from PyPI, once for this machine'),
  });
