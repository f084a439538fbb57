import { readFile } from 'node:fs/promises';
import { applyObjects } from '@turnpike/cluster/deployScope';
import { getJson, kubectl } from '@turnpike/cluster/kubectl';
import { parseManifests } from '@turnpike/cluster/overlay';
import { runScript } from '@turnpike/cluster/runScript';
import { request } from 'undici';
import { z } from 'zod';
import { toScrapeConfig } from './toScrapeConfig.ts';

const NAMESPACE = 'monitoring';
const MANIFESTS = new URL('prometheus.yaml', import.meta.url);
const READY_WITHIN = '120s';
const TIMEOUT_MS = 5_000;

const serviceSchema = z.object({ spec: z.object({ clusterIP: z.string() }) });
const answerSchema = z.object({
  status: z.literal('success'),
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** A Prometheus in the cluster. */
export interface Prometheus {
  /** Returns the values of a query now, a number for each series. */
  ask(query: string): Promise<number[]>;
  /** Takes it away, with its namespace. */
  remove(): Promise<void>;
}

/** Starts a Prometheus in the namespace that the regions' policies let in, which scrapes what the PodMonitor says. */
export async function startPrometheus(podMonitor: unknown, say: (line: string) => void): Promise<Prometheus> {
  await runScript('program-image', { args: ['prometheus'], say });
  const objects = parseManifests(await readFile(MANIFESTS, 'utf8'));
  const config = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'prometheus', namespace: NAMESPACE },
    data: { 'prometheus.yaml': JSON.stringify({ scrape_configs: [toScrapeConfig(podMonitor)] }) },
  };
  await applyObjects([...objects, config]);
  await kubectl(['rollout', 'status', 'deployment/prometheus', '-n', NAMESPACE, `--timeout=${READY_WITHIN}`]);
  const { spec } = serviceSchema.parse(await getJson(['get', 'service', 'prometheus-operated', '-n', NAMESPACE]));
  return {
    async ask(query) {
      const url = `http://${spec.clusterIP}:9090/api/v1/query?query=${encodeURIComponent(query)}`;
      const { body } = await request(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      return answerSchema.parse(await body.json()).data.result.map(({ value: [, text] }) => Number(text));
    },
    async remove() {
      await kubectl(
        ['delete', '--ignore-not-found', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
      );
    },
  };
}
