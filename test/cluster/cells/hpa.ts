import { setTimeout as pause } from 'node:timers/promises';
import { applyObjects } from '@turnpike/cluster/deployRegion';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/regions';
import type { Cell } from '../cell.ts';
import { getWorkload, untilRolledOut } from '../region/rollout.ts';
import { judge } from './rollingUpdate.ts';

const REGION = 'us';
const SERVICE = 'edge';
const [LEAST, MOST] = [2, 4];
/** Processor time of a replica, in thousandths: far below what k8s/components/hpa-cpu says, as two cores have to bring it about. */
const TARGET_MILLICPU = 15;
const BUSY = { perSecond: 100, tokens: [1, 20] as [number, number] };
const QUIET = { perSecond: 2, tokens: [1, 20] as [number, number] };
const FOLLOWS_WITHIN_MS = 60_000;
const POLL_MS = 1_000;
const UNBOUNDED = 1_000_000;

export const hpa: Cell = {
  name: 'hpa',
  does: `a wave of load on ${SERVICE} with an autoscaler by processor time, and its end, while calls go on`,
  holds: `replicas go from ${LEAST} to ${MOST} and back, each begins within 60 s, and no call fails on the way up or down`,
  async run(suite) {
    const namespace = namespaceOf(REGION);
    const context = await suite.openBooks(REGION);
    const quiet = context.startLoad({ calls: UNBOUNDED, ...QUIET });
    await applyObjects([toAutoscaler(namespace)]);
    try {
      const busy = context.startLoad({ calls: UNBOUNDED, openAtMost: 200, ...BUSY });
      await until('more', (replicas) => replicas > LEAST);
      await until(`${MOST}`, (replicas) => replicas === MOST);
      await untilRolledOut(REGION, SERVICE);
      busy.stop();
      await busy.done;
      await until('fewer', (replicas) => replicas < MOST);
      await until(`${LEAST}`, (replicas) => replicas === LEAST);
      await untilRolledOut(REGION, SERVICE);
    } finally {
      await kubectl(['delete', 'hpa', SERVICE, '-n', namespace]);
      await kubectl(['scale', `deployment/${SERVICE}`, `--replicas=${LEAST}`, '-n', namespace]);
      quiet.stop();
    }
    await quiet.done;
    judge(suite)(context);

    async function until(what: string, isIt: (replicas: number) => boolean): Promise<void> {
      suite.doing(`hpa: waiting for ${what} replicas`);
      const startedAt = performance.now();
      while (!isIt((await getWorkload(REGION, SERVICE)).spec.replicas ?? 1)) {
        if (performance.now() - startedAt > 4 * FOLLOWS_WITHIN_MS) throw new Error(`no ${what} replicas within 4 min`);
        await pause(POLL_MS);
      }
      const tookMs = performance.now() - startedAt;
      suite.note(`${what} replicas after ${(tookMs / 1_000).toFixed(1)} s`);
      suite.check(tookMs <= FOLLOWS_WITHIN_MS, `${what} replicas only after ${Math.round(tookMs / 1_000)} s`);
    }
  },
};

const toAutoscaler = (namespace: string): object => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: SERVICE, namespace },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: SERVICE },
    minReplicas: LEAST,
    maxReplicas: MOST,
    metrics: [
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: SERVICE,
          target: { type: 'AverageValue', averageValue: `${TARGET_MILLICPU}m` },
        },
      },
    ],
    behavior: {
      scaleUp: { policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
      scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
    },
  },
});
