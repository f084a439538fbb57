import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { parseAllDocuments } from 'yaml';

const FILE = join(repositoryRoot, 'k8s/components/keda/scaled-objects.yaml');

/** A service's configuration of KEDA: the bounds of its replicas, and the queries that ask for more. */
export interface Scaler {
  service: string;
  least: number;
  most: number;
  /** Each asks for a replica per `threshold` of its query's result. The trigger with the largest number counts. */
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
