import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ACCOUNT_ORIGIN } from './describeCluster.ts';
import { overlayOf } from './paths.ts';

it('names the address of the account layer that the manifests do', async () => {
  const text = await readFile(join(overlayOf('global'), 'kustomization.yaml'), 'utf8');
  expect(text).toContain(`- ACCOUNT_ORIGIN=${ACCOUNT_ORIGIN}\n`);
});
