import { setTimeout as pause } from 'node:timers/promises';
import { kubectl } from '@turnpike/cluster/kubectl';
import { REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import { waitFor } from '@turnpike/local-stack/waitFor';
import type { AllowedOutcomes } from '../../faults/cellContext.ts';
import type { Cell, RegionContext } from '../cell.ts';
import { type Container, isRunning, killContainer, listContainers } from '../region/inContainer.ts';
import { isPodReady, listRegionPods, type Pod } from '../region/pods.ts';
import { startTraffic } from './rollingUpdate.ts';

const REGION = 'us';
/** Calls between one strike and the next. */
const CALLS_BETWEEN = 100;
const POLL_MS = 200;
const BACK_WITHIN_MS = 120_000;
/** A strike costs the calls that the pod had, and those that come before anybody knows that it is gone. */
const ENDS: AllowedOutcomes = { ok: true, broken: true, error_event: true, '503': true };

export const podKilled: Cell = {
  name: 'pod-killed',
  does: 'kill -9 of a pod of each service under load; then a router’s pod is removed by force, with its volume kept, and once more with its volume lost',
  holds:
    'each comes back by itself, and the books are exact: what a router alone knew ends as unknown and costs nothing',
  async run(suite) {
    const context = await suite.openBooks(REGION);
    const traffic = startTraffic(context, 1 / 2);
    for (const service of REGION_SERVICES) await strike(service, 'killed', killOf(service));
    await strike('model-router', 'removed', removeRouter({ volume: 'kept' }));
    await strike('model-router', 'removed with its volume', removeRouter({ volume: 'lost' }));
    await traffic.stop();
    context.allowUnknownAtStrikes(context.records);
    context.checkOutcomes(context.records, ENDS);
    context.checkMediaOutcomes(context.mediaRecords, { ok: true, failed: true, broken: true, '503': true });
    const failed = context.records.filter(({ outcome }) => outcome !== 'ok');
    suite.note(
      `${context.records.length} calls, ${failed.length} of them cut or refused; ${context.rules.unknownAtMost} may be unknown`,
    );

    async function strike(
      service: ServiceName,
      how: string,
      work: (context: RegionContext) => Promise<void>,
    ): Promise<void> {
      suite.doing(`pod-killed: ${service} ${how}`);
      await traffic.calls.untilSent(traffic.calls.sent + CALLS_BETWEEN);
      const startedAt = performance.now();
      traffic.beginMedia();
      const before = await listRegionPods(REGION, service);
      await work(context);
      await context.repaired();
      await untilBack(service, before);
      suite.note(
        `${service} ${how}: calls succeed after ${toSeconds(context.recoveryMs ?? 0)}, all its pods are ready after ${toSeconds(performance.now() - startedAt)}`,
      );
    }
  },
};

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;

/** The last pod of a service, and its only container. */
async function pickPod(service: ServiceName): Promise<{ pod: Pod; container: Container }> {
  const pod = (await listRegionPods(REGION, service)).at(-1);
  const [container] = pod ? await listContainers([pod]) : [];
  if (!pod || !container) throw new Error(`no pod of ${service} runs`);
  return { pod, container };
}

/**
 * Waits until a service has as many pods as before, all ready, and one of their containers is new. The API shows the old container for a
 * moment after its death.
 */
async function untilBack(service: ServiceName, before: readonly Pod[]): Promise<void> {
  const toIds = (pods: readonly Pod[]): Set<string | undefined> =>
    new Set(pods.flatMap(({ status }) => status.containerStatuses.map(({ containerID }) => containerID)));
  const known = toIds(before);
  const isBack = async (): Promise<true | undefined> => {
    const pods = await listRegionPods(REGION, service);
    const isWhole = pods.length === before.length && pods.every(isPodReady);
    return (isWhole && !toIds(pods).isSubsetOf(known)) || undefined;
  };
  if (!(await waitFor(isBack, { timeoutMs: BACK_WITHIN_MS, intervalMs: POLL_MS })))
    throw new Error(`${service} does not come back within ${BACK_WITHIN_MS / 1_000} s`);
}

const killOf =
  (service: ServiceName) =>
  async ({ stack }: RegionContext): Promise<void> => {
    const { container } = await pickPod(service);
    await killContainer(container);
    await untilGone(container, stack.struckAt);
  };

/** Its pod is gone at once for the cluster, which makes another of the same name. */
const removeRouter =
  ({ volume }: { volume: 'kept' | 'lost' }) =>
  async ({ stack }: RegionContext): Promise<void> => {
    const { pod, container } = await pickPod('model-router');
    const { name, namespace } = pod.metadata;
    if (volume === 'lost') await kubectl(['delete', 'pvc', `spool-${name}`, '-n', namespace, '--wait=false']);
    await kubectl(['delete', 'pod', name, '-n', namespace, '--force', '--grace-period=0']);
    await untilGone(container, stack.struckAt);
  };

/** Notes every moment until the process is gone: each may be the one at which a call was cut. */
async function untilGone(container: Container, struckAt: number[]): Promise<void> {
  do {
    struckAt.push(Date.now());
    await pause(POLL_MS);
  } while (await isRunning(container));
  struckAt.push(Date.now());
}
