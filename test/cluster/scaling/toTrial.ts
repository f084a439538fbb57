import type { ScaledObject } from './scaledObject.ts';

/** A trial of the first trigger. The others stay as they are, and two cores are far from them. */
export interface Trial {
  threshold: number;
  most: number;
}

/**
 * Changes a ScaledObject so that a load of two cores scales it up, and its end scales it down within a minute. The first trigger has a
 * lower threshold, the maximum of replicas is lower, and scaling down has no pause. Queries, other triggers, minimum, fallback and
 * speed of growth stay.
 */
export function toTrial(scaledObject: ScaledObject, { threshold, most }: Trial): ScaledObject {
  const { spec } = scaledObject;
  const [first, ...others] = spec.triggers;
  if (!first) throw new Error(`${scaledObject.metadata.name} has no trigger`);
  const { horizontalPodAutoscalerConfig: autoscaler } = spec.advanced;
  const scaleDown = { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] };
  return {
    ...scaledObject,
    spec: {
      ...spec,
      maxReplicaCount: most,
      advanced: {
        ...spec.advanced,
        horizontalPodAutoscalerConfig: { ...autoscaler, behavior: { ...autoscaler.behavior, scaleDown } },
      },
      triggers: [{ ...first, metadata: { ...first.metadata, threshold: String(threshold) } }, ...others],
    },
  };
}
