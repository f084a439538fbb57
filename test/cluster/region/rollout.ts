import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import { isReady, listWorkloads, type Workload } from '@turnpike/cluster/workloads';
import type { Region } from '@turnpike/config/region';
import type { ServiceName } from '@turnpike/config/services';
import { waitFor } from '@turnpike/local-stack/waitFor';

const POLL_MS = 500;
/** Time for one service: each of its pods may wait for its streams, and starts anew. */
const ROLLOUT_WITHIN_MS = 400_000;

/** The Deployment or StatefulSet of a service, or of another part. */
export async function getWorkload(region: Region, name: string): Promise<Workload> {
  const workload = (await listWorkloads(namespaceOf(region))).find(({ metadata }) => metadata.name === name);
  if (!workload) throw new Error(`region ${region} has no workload ${name}`);
  return workload;
}

/** `kubectl rollout restart`; resolves with how long it took until every pod is a new one and ready. */
export async function restart(region: Region, service: ServiceName): Promise<number> {
  const startedAt = performance.now();
  const { kind } = await getWorkload(region, service);
  await kubectl(['rollout', 'restart', `${kind.toLowerCase()}/${service}`, '-n', namespaceOf(region)]);
  await untilRolledOut(region, service);
  return performance.now() - startedAt;
}

export async function untilRolledOut(region: Region, name: string, withinMs = ROLLOUT_WITHIN_MS): Promise<void> {
  const isDone = async (): Promise<true | undefined> => isReady(await getWorkload(region, name)) || undefined;
  if (await waitFor(isDone, { timeoutMs: withinMs, intervalMs: POLL_MS })) return;
  throw new Error(`${name} of ${region} is not rolled out within ${withinMs / 1_000} s`);
}
