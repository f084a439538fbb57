import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { StackError } from '@turnpike/local-stack/stackError';
import { writeSecrets } from './writeSecrets.ts';

const FOLDER = '.turnpike/compose';

/** `npm run compose-secrets`: writes what the containers of compose.yaml are told in secret. */
writeSecrets(join(repositoryRoot, FOLDER)).then(
  (files) => process.stdout.write(`Wrote ${files.length} files to ${FOLDER}.\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
    process.exitCode = 1;
  },
);
