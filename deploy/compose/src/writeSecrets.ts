import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toSecretValues } from '@turnpike/cluster/clusterSecrets';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { loadLocalSecrets } from '@turnpike/local-stack/localSecrets';
import { StackError } from '@turnpike/local-stack/stackError';

/**
 * Writes the secrets of the region and the account layer as environment files, for the owner alone: one for each container that has
 * some. The secrets are made once and kept in `secrets.json` beside them. Resolves with the names of the files. Throws a `StackError`
 * for secrets of a version that had no account layer, because its Postgres has no database for it.
 */
export async function writeSecrets(folder: string): Promise<string[]> {
  const secrets = await loadLocalSecrets(join(folder, 'secrets.json'), {
    scope: 'us',
    services: SERVICE_NAMES,
    dataDirs: [],
  });
  if (secrets.databasePasswords.account === undefined)
    throw new StackError(
      `${folder} has no secrets of the account layer. To start afresh, run "down -v" and remove it.`,
    );
  const files = Object.entries(toSecretValues(secrets)).map(([name, values]) => {
    const lines = Object.entries(values).map(([variable, value]) => `${variable}=${value}\n`);
    return [`${name}.env`, lines.join('')] as const;
  });
  for (const [name, text] of files) await writeFile(join(folder, name), text, { mode: 0o600 });
  return files.map(([name]) => name);
}
