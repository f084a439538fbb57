import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

const readText = (place: string): Promise<string> => readFile(join(repositoryRoot, place), 'utf8');

it('the KEDA that is compiled is the one whose schemas the manifests are held against', async () => {
  const [, compiled] = /^KEDA=(\S+)/m.exec(await readText('deploy/cluster/lib.sh')) ?? [];
  expect(compiled).toMatch(/^github\.com\/kedacore\/keda\/v2@v\d/);
  expect(await readText('deploy/local/src/tools/ensureManifestTools.ts')).toContain(`module: '${compiled}'`);
});
