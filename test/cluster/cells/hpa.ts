import { applyObjects } from '@turnpike/cluster/deployScope';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import type { Cell } from '../cell.ts';
import { rideWave } from '../region/rideWave.ts';
import { judge } from './rollingUpdate.ts';

const REGION = 'us';
const SERVICE = 'edge';
const [LEAST, MOST] = [2, 4];
/** Processor time of a replica, in thousandths: far below what k8s/components/hpa-cpu says, as two cores have to bring it about. */
const TARGET_MILLICPU = 15;
const BUSY = { perSecond: 100, openAtMost: 200, tokens: [1, 20] as [number, number] };
const QUIET = { perSecond: 2, tokens: [1, 20] as [number, number] };
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
      await rideWave(suite, context, {
        ...{ cell: 'hpa', region: REGION, service: SERVICE, least: LEAST, most: MOST },
        load: BUSY,
      });
    } finally {
      await kubectl(['delete', 'hpa', SERVICE, '-n', namespace]);
      await kubectl(['scale', `deployment/${SERVICE}`, `--replicas=${LEAST}`, '-n', namespace]);
      quiet.stop();
    }
    await quiet.done;
    judge(suite)(context);
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
