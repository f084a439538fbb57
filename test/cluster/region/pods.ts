import { namespaceOf } from '@turnpike/cluster/paths';
import { readApi } from '@turnpike/cluster/readApi';
import type { Region } from '@turnpike/config/region';
import { z } from 'zod';

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({
    nodeName: z.string().optional(),
    serviceAccountName: z.string().optional(),
    automountServiceAccountToken: z.boolean().optional(),
    hostNetwork: z.boolean().optional(),
    containers: z.array(z.object({ image: z.string() })),
  }),
  status: z.object({
    phase: z.string(),
    podIP: z.string().optional(),
    containerStatuses: z
      .array(
        z.object({
          name: z.string(),
          ready: z.boolean(),
          restartCount: z.number(),
          containerID: z.string().optional(),
        }),
      )
      .default([]),
  }),
});
const listSchema = z.object({ items: z.array(podSchema) });

export type Pod = z.output<typeof podSchema>;

/** The label that names what a pod is of. */
export const APP = 'app.kubernetes.io/name';

/** The pods of a namespace that run and are not being ended; of one app where it is given. */
export async function listPods(namespace: string, app?: string): Promise<Pod[]> {
  const selector = app === undefined ? '' : `?labelSelector=${encodeURIComponent(`${APP}=${app}`)}`;
  const { items } = listSchema.parse(await readApi(`/api/v1/namespaces/${namespace}/pods${selector}`));
  return items.filter(({ metadata, status }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined);
}

export const listRegionPods = (region: Region, app?: string): Promise<Pod[]> => listPods(namespaceOf(region), app);

/** Whether all of its containers are ready. */
export const isPodReady = ({ status }: Pod): boolean =>
  status.containerStatuses.length > 0 && status.containerStatuses.every(({ ready }) => ready);
