import { z } from 'zod';
import { getJson } from './kubectl.ts';

const workloadSchema = z.object({
  kind: z.enum(['Deployment', 'StatefulSet', 'Job']),
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

export type Workload = z.output<typeof workloadSchema>;

/** Every Deployment, StatefulSet and Job of a namespace. */
export async function listWorkloads(namespace: string): Promise<Workload[]> {
  return listSchema.parse(await getJson(['get', 'deployments,statefulsets,jobs', '-n', namespace])).items;
}

/** Whether it is as its latest description says: every pod of that and ready, and none of the one before; a Job has succeeded. */
export function isReady({ kind, metadata, spec, status }: Workload): boolean {
  if (kind === 'Job') return (status.succeeded ?? 0) > 0;
  const wanted = spec.replicas ?? 1;
  const counts = [status.replicas ?? 0, status.updatedReplicas ?? 0, status.readyReplicas ?? 0];
  return status.observedGeneration === metadata.generation && counts.every((count) => count === wanted);
}
