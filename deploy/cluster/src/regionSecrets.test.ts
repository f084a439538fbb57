import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { REGIONS, type Region } from '@turnpike/config/region';
import { REGION_SERVICES } from '@turnpike/config/services';
import { loadLocalSecrets } from '@turnpike/local-stack/localSecrets';
import { listSecrets } from '@turnpike/manifests/secrets';
import { toSecretObjects } from './regionSecrets.ts';

interface SecretObject {
  metadata: { name: string; namespace: string };
  stringData: Record<string, string>;
}

async function makeSecrets(region: Region): Promise<SecretObject[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cluster-'));
  try {
    const secrets = await loadLocalSecrets(join(folder, 'secrets.json'), {
      region,
      services: REGION_SERVICES,
      dataDirs: [],
    });
    return toSecretObjects(region, secrets) as SecretObject[];
  } finally {
    await rm(folder, { recursive: true });
  }
}

it.each(REGIONS)(
  'makes every Secret that the manifests of %s name, with its keys, in the namespace of the region',
  async (region) => {
    const made = await makeSecrets(region);
    const keys = Object.fromEntries(
      made.map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData).sort()]),
    );
    const wanted = Object.entries(listSecrets('region')).map(([name, names]) => [name, names.toSorted()]);
    expect(keys).toMatchObject(Object.fromEntries(wanted));
    expect(new Set(made.map(({ metadata }) => metadata.namespace))).toEqual(new Set([`turnpike-${region}`]));
  },
);

it('gives no region a password, pepper or signing key of another one', async () => {
  const [us, eu] = await Promise.all(REGIONS.map(makeSecrets));
  const secretsOf = (objects: SecretObject[] = []): Set<string> =>
    new Set(JSON.stringify(objects).match(/[0-9a-f]{64}|:[\w-]{43}(?=")/g));
  expect(secretsOf(us).size).toBeGreaterThan(14);
  expect(secretsOf(us).isDisjointFrom(secretsOf(eu))).toBe(true);
});
