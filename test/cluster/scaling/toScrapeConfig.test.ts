import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { type Manifest, parseManifests } from '@turnpike/cluster/overlay';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { toScrapeConfig } from './toScrapeConfig.ts';

async function readPodMonitor(): Promise<Manifest> {
  const text = await readFile(join(repositoryRoot, 'k8s/components/monitoring/pod-monitor.yaml'), 'utf8');
  const [monitor] = parseManifests(text);
  if (!monitor) throw new Error('the component has no PodMonitor');
  return { ...monitor, metadata: { ...monitor.metadata, namespace: 'turnpike-eu' } };
}

it('has Prometheus scrape the region’s own pods as often as the PodMonitor says, with the labels that queries go by', async () => {
  const config = toScrapeConfig(await readPodMonitor());
  expect(config).toMatchObject({
    kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: ['turnpike-eu'] } }],
    metrics_path: '/metrics',
    scrape_interval: '15s',
    scrape_timeout: '5s',
  });
  const kept = config.relabel_configs.filter((rule) => 'action' in rule && rule.action === 'keep');
  expect(kept).toEqual([
    {
      source_labels: ['__meta_kubernetes_pod_label_app_kubernetes_io_part_of'],
      regex: 'turnpike',
      action: 'keep',
    },
    { source_labels: ['__meta_kubernetes_pod_container_port_name'], regex: 'internal', action: 'keep' },
  ]);
  const copied = config.relabel_configs.flatMap((rule) =>
    'target_label' in rule && 'source_labels' in rule ? [[rule.target_label, rule.source_labels]] : [],
  );
  expect(Object.fromEntries(copied)).toEqual({
    namespace: ['__meta_kubernetes_namespace'],
    container: ['__meta_kubernetes_pod_container_name'],
    pod: ['__meta_kubernetes_pod_name'],
    job: ['__meta_kubernetes_pod_label_app_kubernetes_io_name'],
    instance: ['__meta_kubernetes_pod_name'],
  });
});

it('refuses a PodMonitor that says more than is translated', async () => {
  const monitor = await readPodMonitor();
  const withMore = { ...monitor, spec: { ...monitor.spec, sampleLimit: 10_000 } };
  expect(() => toScrapeConfig(withMore)).toThrow('sampleLimit');
});
