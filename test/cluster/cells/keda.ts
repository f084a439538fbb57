import { applyObjects } from '@turnpike/cluster/deployScope';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import { runScript } from '@turnpike/cluster/runScript';
import { listWorkloads } from '@turnpike/cluster/workloads';
import { REGION_SERVICES } from '@turnpike/config/services';
import { waitFor } from '@turnpike/local-stack/waitFor';
import type { MediaKind } from '../../faults/load/media/mediaRecord.ts';
import type { Cell, Suite } from '../cell.ts';
import { rideWave } from '../region/rideWave.ts';
import { untilReplicas } from '../region/untilReplicas.ts';
import { readMetric, readScaling } from '../scaling/readScaling.ts';
import { renderScaling } from '../scaling/renderScaling.ts';
import type { ScaledObject } from '../scaling/scaledObject.ts';
import { type Prometheus, startPrometheus } from '../scaling/startPrometheus.ts';
import { toTrial } from '../scaling/toTrial.ts';
import { judge } from './rollingUpdate.ts';

const REGION = 'eu';
const SERVICE = 'edge';
const [LEAST, MOST] = [2, 4];
/** Open calls a replica. */
const THRESHOLD = 10;
/** Streams of some six seconds, so that sixty are open. */
const BUSY = {
  ...{ perSecond: 15, openAtMost: 60, streamShare: 1 },
  ...{ tokens: [50, 70] as [number, number], interTokenMs: 100 },
};
const QUIET = { calls: Number.POSITIVE_INFINITY, perSecond: 2, tokens: [1, 20] as [number, number] };
/** Jobs that keep the only slot for images busy, so that Prometheus scrapes a signal of waiting jobs above 0. */
const WAITING_JOBS = { calls: 30, kinds: ['image job'] as MediaKind[], perSecond: 10 };
const READY_WITHIN_MS = 60_000;
/** Rates want two samples, a quarter of a minute apart. */
const ANSWERED_WITHIN_MS = 60_000;
/** Three questions in vain, of which the autoscaler asks one every 15 s. */
const FALLS_BACK_WITHIN_MS = 90_000;
const POLL_MS = 500;

export const keda: Cell = {
  name: 'keda',
  does: `KEDA and a Prometheus, with the ScaledObjects of ${REGION} as they stand; then a wave of open streams on ${SERVICE}, whose first threshold is lowered, and Prometheus gone; calls go on all the while`,
  holds: `every ScaledObject is taken and every query answered by what the pods say; replicas go from ${LEAST} to ${MOST} and back, each begins within 60 s; without Prometheus there are as many as the fallback says; no call fails`,
  async run(suite) {
    const say = (line: string): void => suite.doing(`keda: ${line}`);
    const namespace = namespaceOf(REGION);
    const { scaledObjects, podMonitor } = await renderScaling(REGION);
    const edge = scaledObjects.find(({ metadata }) => metadata.name === SERVICE);
    if (!edge) throw new Error(`${SERVICE} has no ScaledObject`);
    const before = await readReplicas();
    const context = await suite.openBooks(REGION);
    const quiet = context.startLoad(QUIET);
    const prometheus = await startPrometheus(podMonitor, say);
    try {
      const startedAt = performance.now();
      await runScript('keda', { say });
      suite.note(`KEDA is ready after ${toSeconds(performance.now() - startedAt)}`);
      await context.ask('/v1/models'); // no router has metrics of models before the first call
      await applyObjects(scaledObjects);
      for (const scaledObject of scaledObjects) {
        if (scaledObject.metadata.name === 'media-jobs') context.startMedia(WAITING_JOBS);
        await checkTriggers(suite, { scaledObject, prometheus });
      }

      const others = scaledObjects.filter((each) => each !== edge).map(({ metadata }) => metadata.name);
      await kubectl(['delete', 'scaledobject', ...others, '-n', namespace]);
      await applyObjects([toTrial(edge, { threshold: THRESHOLD, most: MOST })]);
      await rideWave(suite, context, {
        ...{ cell: 'keda', region: REGION, service: SERVICE, least: LEAST, most: MOST },
        load: BUSY,
      });

      await prometheus.remove();
      await untilReplicas(
        suite,
        { cell: 'keda', region: REGION, service: SERVICE },
        {
          what: `without Prometheus ${edge.spec.fallback.replicas}`,
          isIt: (replicas) => replicas === edge.spec.fallback.replicas,
          withinMs: FALLS_BACK_WITHIN_MS,
        },
      );
    } finally {
      await runScript('keda', { args: ['--remove'], say });
      await prometheus.remove();
      for (const [workload, replicas] of before)
        await kubectl(['scale', workload, `--replicas=${replicas}`, '-n', namespace]);
      quiet.stop();
    }
    await quiet.done;
    judge(suite)(context);
  },
};

/** Reads the replicas of every service, by kind and name. */
async function readReplicas(): Promise<Map<string, number>> {
  const workloads = await listWorkloads(namespaceOf(REGION));
  const services = workloads.filter(({ metadata }) => REGION_SERVICES.some((name) => name === metadata.name));
  return new Map(
    services.map(({ kind, metadata, spec }) => [`${kind.toLowerCase()}/${metadata.name}`, spec.replicas ?? 1]),
  );
}

/** Checks that KEDA takes a ScaledObject, and that what it tells the autoscaler of each trigger is what Prometheus has of the pods. */
async function checkTriggers(
  suite: Suite,
  { scaledObject, prometheus }: { scaledObject: ScaledObject; prometheus: Prometheus },
): Promise<void> {
  const { name } = scaledObject.metadata;
  suite.doing(`keda: the signals of ${name}`);
  const isReady = async (): Promise<true | undefined> =>
    (await readScaling(scaledObject)).conditions.get('Ready')?.status === 'True' || undefined;
  await waitFor(isReady, { timeoutMs: READY_WITHIN_MS, intervalMs: POLL_MS });
  const { conditions, metrics } = await readScaling(scaledObject);
  const ready = conditions.get('Ready');
  suite.check(ready?.status === 'True', `${name} is not ready: ${ready?.message ?? 'KEDA says nothing of it'}`);
  suite.check(
    metrics.length === scaledObject.spec.triggers.length,
    `${name} has ${scaledObject.spec.triggers.length} triggers, and KEDA the metrics ${metrics.join(', ')}`,
  );

  const values: number[] = [];
  for (const [index, metric] of metrics.entries()) {
    const { query } = scaledObject.spec.triggers[index]?.metadata ?? { query: '' };
    const isAnswered = async (): Promise<number | undefined> => {
      const series = await prometheus.ask(query);
      // To KEDA what Prometheus has no answer to is an error, and one that lasts has the fallback told in its place.
      if (series.length === 0) return undefined;
      const told = await readMetric(scaledObject, metric).catch(() => Number.NaN);
      return series.length === 1 && isNear(series[0] ?? Number.NaN, told) ? told : undefined;
    };
    const value = await waitFor(isAnswered, { timeoutMs: ANSWERED_WITHIN_MS, intervalMs: POLL_MS });
    if (value !== undefined) values.push(value);
    else
      suite.check(
        false,
        `${name}: ${query} is ${JSON.stringify(await prometheus.ask(query))} in Prometheus, and KEDA tells of ${await readMetric(scaledObject, metric).catch(String)}`,
      );
  }
  suite.note(`${name} is ready, its signals: ${values.join(', ')}`);
}

/** KEDA tells of thousandths, and asked a moment later. */
const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= 0.001 + 0.05 * Math.max(a, b);

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;
