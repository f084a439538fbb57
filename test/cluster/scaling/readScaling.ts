import { readApi } from '@turnpike/cluster/readApi';
import { z } from 'zod';
import { parseQuantity } from './parseQuantity.ts';
import type { ScaledObject } from './scaledObject.ts';

const statusSchema = z.object({
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
        .default([]),
      externalMetricNames: z.array(z.string()).default([]),
    })
    .default({ conditions: [], externalMetricNames: [] }),
});
const metricsSchema = z.object({ items: z.tuple([z.object({ value: z.string() })]) });

/** The state of a ScaledObject in KEDA: each condition by its type, and the metrics it serves, one a trigger. */
export interface ScalingState {
  conditions: Map<string, { status: string; message: string | undefined }>;
  metrics: string[];
}

export async function readScaling({ metadata: { name, namespace } }: ScaledObject): Promise<ScalingState> {
  const { status } = statusSchema.parse(
    await readApi(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/${name}`),
  );
  const conditions = status.conditions.map(({ type, status, message }) => [type, { status, message }] as const);
  return { conditions: new Map(conditions), metrics: status.externalMetricNames };
}

/** A metric of a ScaledObject as the autoscaler asks for it: KEDA runs the trigger's query for the answer. */
export async function readMetric({ metadata: { name, namespace } }: ScaledObject, metric: string): Promise<number> {
  const selector = encodeURIComponent(`scaledobject.keda.sh/name=${name}`);
  const { items } = metricsSchema.parse(
    await readApi(`/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${metric}?labelSelector=${selector}`),
  );
  return parseQuantity(items[0].value);
}
