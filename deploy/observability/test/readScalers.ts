import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { parseAllDocuments } from 'yaml';

const FILE = join(repositoryRoot, 'k8s/components/keda/scaled-objects.yaml');

/** What KEDA is told of a service: how many replicas it may have, and by what it asks Prometheus for more. */
export interface Scaler {
  service: string;
  least: number;
  most: number;
  /** A replica for each `threshold` of what the query comes to; the trigger that wants most is followed. */
  triggers: Trigger[];
}

export interface Trigger {
  query: string;
  threshold: number;
  kind: string;
  /** Whether no answer is an error, which the fallback is for, and not 0. */
  wantsAnswer: boolean;
}

interface ScaledObject {
  metadata: { name: string };
  spec: {
    minReplicaCount: number;
    maxReplicaCount: number;
    triggers: { metricType: string; metadata: { query: string; threshold: string; ignoreNullValues?: string } }[];
  };
}

/** Every ScaledObject of the component, as it is in this namespace. */
export async function readScalers(namespace: string): Promise<Scaler[]> {
  const documents = parseAllDocuments(await readFile(FILE, 'utf8')).map((document) => document.toJS() as ScaledObject);
  return documents.map(({ metadata, spec }) => ({
    service: metadata.name,
    least: spec.minReplicaCount,
    most: spec.maxReplicaCount,
    triggers: spec.triggers.map(({ metricType, metadata: { query, threshold, ignoreNullValues } }) => ({
      query: query.replaceAll('NAMESPACE', namespace),
      threshold: Number(threshold),
      kind: metricType,
      wantsAnswer: ignoreNullValues === 'false',
    })),
  }));
}
