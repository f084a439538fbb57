import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toSecretValues } from '@turnpike/cluster/clusterSecrets';
import { REGION_SERVICES } from '@turnpike/config/services';
import { loadLocalSecrets } from '@turnpike/local-stack/localSecrets';

/**
 * Writes the environment files that hold the region's secrets, one for each container that has some, for the owner alone. The
 * secrets are made once and kept in `secrets.json` beside them. Resolves with the names of the files.
 */
export async function writeSecrets(folder: string): Promise<string[]> {
  const secrets = await loadLocalSecrets(join(folder, 'secrets.json'), {
    scope: 'us',
    services: REGION_SERVICES,
    dataDirs: [],
  });
  const files = Object.entries(toSecretValues(secrets)).map(([name, values]) => {
    const lines = Object.entries(values).map(([variable, value]) => `${variable}=${value}\n`);
    return [`${name}.env`, lines.join('')] as const;
  });
  for (const [name, text] of files) await writeFile(join(folder, name), text, { mode: 0o600 });
  return files.map(([name]) => name);
}
