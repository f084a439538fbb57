import { z } from 'zod';

/** The fields of a PodMonitor that are translated. Strict, so that one more in it is no silent gap. */
const podMonitorSchema = z.object({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    jobLabel: z.string(),
    podMetricsEndpoints: z.tuple([
      z.strictObject({
        port: z.string(),
        path: z.string(),
        interval: z.string(),
        scrapeTimeout: z.string(),
        relabelings: z.array(z.strictObject({ sourceLabels: z.array(z.string()), targetLabel: z.string() })),
      }),
    ]),
  }),
});

/** Returns Prometheus' name for a pod's label or annotation: letters, digits and underscores. */
const toMetaLabel = (label: string): string => `__meta_kubernetes_pod_label_${label.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`;

const copy = (from: string, to: string) => ({ source_labels: [from], target_label: to });

/**
 * Returns the scrape job that the Prometheus operator makes of a PodMonitor with one endpoint: pods of its namespace, and the
 * labels of queries.
 */
export function toScrapeConfig(podMonitor: unknown) {
  const { metadata, spec } = podMonitorSchema.parse(podMonitor);
  const [{ port, path, interval, scrapeTimeout, relabelings }] = spec.podMetricsEndpoints;
  return {
    job_name: `podMonitor/${metadata.namespace}/${metadata.name}/0`,
    kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: [metadata.namespace] } }],
    scrape_interval: interval,
    scrape_timeout: scrapeTimeout,
    metrics_path: path,
    relabel_configs: [
      { source_labels: ['__meta_kubernetes_pod_phase'], regex: '(Failed|Succeeded)', action: 'drop' },
      ...Object.entries(spec.selector.matchLabels).map(([label, value]) => ({
        source_labels: [toMetaLabel(label)],
        regex: value,
        action: 'keep',
      })),
      { source_labels: ['__meta_kubernetes_pod_container_port_name'], regex: port, action: 'keep' },
      copy('__meta_kubernetes_namespace', 'namespace'),
      copy('__meta_kubernetes_pod_container_name', 'container'),
      copy('__meta_kubernetes_pod_name', 'pod'),
      copy(toMetaLabel(spec.jobLabel), 'job'),
      { target_label: 'endpoint', replacement: port },
      ...relabelings.map(({ sourceLabels, targetLabel }) => ({
        source_labels: sourceLabels,
        target_label: targetLabel,
      })),
    ],
  };
}
