import { NONCE_PLACEHOLDER } from '@turnpike/console-api/pages';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  oxc: { jsx: { runtime: 'automatic' } },
  html: { cspNonce: NONCE_PLACEHOLDER },
  build: {
    target: 'es2023',
    manifest: true,
    license: { fileName: 'licenses.json' },
    // Images in the address of a link are refused by the pages' content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The entry with its reads, and the code that pages share. Each file more takes a slow processor some milliseconds.
          groups: [
            { name: 'early', test: /[\\/]src[\\/]early\.ts$|vite[\\/]preload-helper/, priority: 1 },
            { name: 'shared', minShareCount: 2 },
          ],
        },
      },
      // Libraries mark the modules of browsers for servers that render, of which there is none.
      onwarn: (warning, warn) => (warning.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : warn(warning)),
    },
  },
});
