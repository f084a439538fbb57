import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { writeSecrets } from './writeSecrets.ts';

const FOLDER = '.turnpike/compose';

/** `npm run compose-secrets`: writes what the containers of compose.yaml are told in secret. */
runCommand(async () => {
  const files = await writeSecrets(join(repositoryRoot, FOLDER));
  return print(`Wrote ${files.length} files to ${FOLDER}.`);
});
