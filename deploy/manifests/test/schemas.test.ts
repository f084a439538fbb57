import { beforeAll, describe, expect, it } from '@jest/globals';
import { type ManifestCheck, readManifestCheck } from './manifestSchemas.ts';
import { hasKustomize, renderFolder, renderWith, SCHEMAS_FOLDER } from './renderManifests.ts';

const describeWithKustomize = hasKustomize ? describe : describe.skip;
if (!hasKustomize) it('the manifests are not held against schemas: there is no kustomize', () => {});

describeWithKustomize('every manifest is as the schemas of its kind say, without a field that they do not name', () => {
  let check: ManifestCheck;
  beforeAll(() => {
    check = readManifestCheck(SCHEMAS_FOLDER);
  });

  it.each([
    ['overlays/us', []],
    ['overlays/eu', []],
    ['overlays/local/us', []],
    ['overlays/local/eu', []],
    ['overlays/local/us', ['components/ingress', 'components/hpa-cpu']],
    ['overlays/global', []],
    ['overlays/local/global', []],
  ])('%s %s', (folder, components) => {
    const manifests = components.length === 0 ? renderFolder(folder) : renderWith(folder, components);
    const problems = manifests.flatMap((manifest) =>
      check(manifest).map((problem) => `${manifest.kind} ${manifest.metadata.name} ${problem}`),
    );
    expect(problems).toEqual([]);
    expect(manifests.length).toBeGreaterThan(folder.endsWith('global') ? 7 : 50);
  });

  it.each([
    'overlays/us/migrations',
    'overlays/eu/migrations',
    'overlays/global/migrations',
    'engines/llama-3-3-70b-instruct',
    'engines/qwen3-32b',
    'engines/bge-m3',
    'engines/whisper-large-v3',
    'examples/redis',
  ])('%s', (folder) => {
    const manifests = renderFolder(folder);
    expect(manifests.flatMap(check)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(0);
  });

  it('finds a misspelt field, a wrong type and a kind that nobody knows', () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'edge' } };
    expect(check({ ...service, spec: { ports: [{ port: 80 }] } } as never)).toEqual([]);
    expect(check({ ...service, spec: { ports: [{ port: 80, targetport: 1 }] } } as never)).toHaveLength(1);
    expect(check({ ...service, spec: { ports: [{ port: 'http' }] } } as never)).toHaveLength(1);
    expect(check({ ...service, kind: 'Servise' })).toHaveLength(1);
  });
});
