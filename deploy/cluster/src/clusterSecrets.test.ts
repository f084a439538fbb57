import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { REGIONS, type Scope } from '@turnpike/config/region';
import { listSecrets } from '@turnpike/manifests/secrets';
import { type ClusterSecrets, loadClusterSecrets, toSecretObjects } from './clusterSecrets.ts';
import { SCOPES } from './paths.ts';

interface SecretObject {
  metadata: { name: string; namespace: string };
  stringData: Record<string, string>;
}

let secrets: ClusterSecrets;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-cluster-'));
  try {
    secrets = await loadClusterSecrets((scope) => join(folder, `${scope}.json`));
  } finally {
    await rm(folder, { recursive: true });
  }
});

const objectsOf = (scope: Scope): SecretObject[] => toSecretObjects(scope, secrets) as SecretObject[];
const readValue = (scope: Scope, name: string, key: string): string =>
  objectsOf(scope).find(({ metadata }) => metadata.name === name)?.stringData[key] ?? '';

it.each(SCOPES)(
  'makes every Secret that the manifests of %s name, with its keys, in the namespace of the scope',
  (scope) => {
    const keys = Object.fromEntries(
      objectsOf(scope).map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData).sort()]),
    );
    const listed = listSecrets(scope === 'global' ? 'global' : 'region');
    const wanted = Object.entries(listed).map(([name, names]) => [name, names.toSorted()]);
    expect(keys).toMatchObject(Object.fromEntries(wanted));
    expect(keys.postgres).toEqual(['DATABASES', 'POSTGRES_PASSWORD']);
    expect(new Set(objectsOf(scope).map(({ metadata }) => metadata.namespace))).toEqual(new Set([`turnpike-${scope}`]));
  },
);

it('gives no scope a password, pepper or signing key of another one', () => {
  // A public key has 43 characters as well, so that those are left out.
  const secretsOf = (scope: Scope): Set<string> =>
    new Set(
      objectsOf(scope)
        .filter(({ metadata }) => metadata.name !== 'turnpike-internal')
        .flatMap((object) => JSON.stringify(object).match(/[0-9a-f]{64}|:[\w-]{43}(?=")/g) ?? []),
    );
  const [us, eu, global] = [secretsOf('us'), secretsOf('eu'), secretsOf('global')];
  expect(us.size).toBeGreaterThan(14);
  expect(global.size).toBeGreaterThan(3);
  expect([us.isDisjointFrom(eu), us.isDisjointFrom(global), eu.isDisjointFrom(global)]).toEqual([true, true, true]);
});

it('has a region take what its own services and the account layer sign, and the account layer what any region signs', () => {
  const issuersOf = (scope: Scope): string[] =>
    readValue(scope, 'turnpike-internal', 'INTERNAL_PUBLIC_KEYS')
      .split(',')
      .map((key) => key.split(':')[0] ?? '');
  for (const region of REGIONS) {
    const others = issuersOf(region).filter((issuer) => !issuer.startsWith(`${region}/`));
    expect(others).toEqual(['global/control-plane']);
  }
  const taken = issuersOf('global');
  expect(taken).toEqual(expect.arrayContaining(['us/auth', 'us/operator', 'eu/usage-ledger', 'global/control-plane']));
  expect(taken.filter((issuer) => issuer.startsWith('global/'))).toEqual(['global/control-plane']);
});
