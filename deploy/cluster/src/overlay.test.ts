import { expect, it } from '@jest/globals';
import { parseManifests, toPhases, withDigests } from './overlay.ts';

const text = `
kind: Namespace
metadata: {name: turnpike-us}
---
kind: Deployment
metadata: {name: auth}
spec: {template: {metadata: {annotations: {a: b}}, spec: {containers: [{name: auth, image: 'turnpike/auth:dev'}]}}}
---
kind: Service
metadata: {name: auth}
spec: {ports: []}
---
kind: StatefulSet
metadata: {name: postgres}
spec: {template: {spec: {containers: [{image: 'turnpike/postgres:dev'}]}}}
---
kind: Job
metadata: {name: migrate-auth}
`;

it('applies namespaces first, then stores and what is no workload, then migrations, and services last', () => {
  const phases = toPhases(parseManifests(text));
  const names = Object.values(phases).map((manifests) =>
    manifests.map(({ kind, metadata }: { kind: string; metadata: { name: string } }) => `${kind} ${metadata.name}`),
  );
  expect(Object.keys(phases)).toEqual(['namespaces', 'others', 'migrations', 'services']);
  expect(names).toEqual([
    ['Namespace turnpike-us'],
    ['Service auth', 'StatefulSet postgres'],
    ['Job migrate-auth'],
    ['Deployment auth'],
  ]);
});

it('changes the template of a workload with the digest of its image, and of nothing else', () => {
  const of = (digest: string) =>
    parseManifests(text).map((manifest) => withDigests(manifest, new Map([['turnpike/auth:dev', digest]])));
  const [before, after] = [of('sha256:1'), of('sha256:2')];
  const changed = before.flatMap((manifest, index) =>
    JSON.stringify(manifest) === JSON.stringify(after[index]) ? [] : [manifest.metadata.name],
  );
  expect(changed).toEqual(['auth']);
  expect(after[1]?.spec?.template).toMatchObject({
    metadata: { annotations: { a: 'b', 'turnpike.local/image-digests': 'sha256:2' } },
    spec: { containers: [{ name: 'auth', image: 'turnpike/auth:dev' }] },
  });
});
