import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { parse, parseAllDocuments } from 'yaml';

const FOLDER = join(repositoryRoot, 'k8s/components/monitoring');
const read = async (file: string) => parse(await readFile(join(FOLDER, file), 'utf8'));

it('sends traces to the port of the collector that the example starts', async () => {
  const { configMapGenerator } = await read('kustomization.yaml');
  const endpoint = /^OTEL_EXPORTER_OTLP_ENDPOINT=(.*)$/.exec(configMapGenerator[0].literals[0])?.[1] ?? '';
  const { namespace } = await read('collector/kustomization.yaml');
  const objects = parseAllDocuments(await readFile(join(FOLDER, 'collector/collector.yaml'), 'utf8'));
  const service = objects.map((it) => it.toJS()).find(({ kind }) => kind === 'Service');
  const { receivers } = await read('collector/config.yaml');

  expect(endpoint).toBe(`http://${service.metadata.name}.${namespace}:${service.spec.ports[0].port}`);
  expect(receivers.otlp.protocols.http.endpoint).toBe(`0.0.0.0:${service.spec.ports[0].port}`);
});
