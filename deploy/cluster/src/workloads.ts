import { z } from 'zod';
import { readApi } from './readApi.ts';

const workloadSchema = z.object({
  metadata: z.object({ name: z.string(), generation: z.number() }),
  spec: z.object({ replicas: z.number().optional(), template: z.unknown() }),
  status: z.object({
    observedGeneration: z.number().optional(),
    replicas: z.number().optional(),
    readyReplicas: z.number().optional(),
    updatedReplicas: z.number().optional(),
    succeeded: z.number().optional(),
    failed: z.number().optional(),
  }),
});
const listSchema = z.object({ items: z.array(workloadSchema) });

/** The API group and the resource name of each kind. */
const LISTS = {
  Deployment: ['apps/v1', 'deployments'],
  StatefulSet: ['apps/v1', 'statefulsets'],
  Job: ['batch/v1', 'jobs'],
} as const;
type Kind = keyof typeof LISTS;

export type Workload = z.output<typeof workloadSchema> & { kind: Kind };

/** Every Deployment, StatefulSet and Job of a namespace. */
export async function listWorkloads(namespace: string): Promise<Workload[]> {
  const lists = (Object.keys(LISTS) as Kind[]).map(async (kind) => {
    const [group, list] = LISTS[kind];
    const { items } = listSchema.parse(await readApi(`/apis/${group}/namespaces/${namespace}/${list}`));
    return items.map((item) => ({ ...item, kind }));
  });
  return (await Promise.all(lists)).flat();
}

/** Whether it is as its latest description says: every pod of that and ready, and none of the one before; a Job has succeeded. */
export function isReady({ kind, metadata, spec, status }: Workload): boolean {
  if (kind === 'Job') return (status.succeeded ?? 0) > 0;
  const wanted = spec.replicas ?? 1;
  const counts = [status.replicas ?? 0, status.updatedReplicas ?? 0, status.readyReplicas ?? 0];
  return status.observedGeneration === metadata.generation && counts.every((count) => count === wanted);
}
