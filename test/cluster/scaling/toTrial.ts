import type { ScaledObject } from './scaledObject.ts';

/** A trial of the first trigger. The others stay as they are, and two cores are far from them. */
export interface Trial {
  threshold: number;
  most: number;
}

/**
 * A ScaledObject that a wave of two cores can move, and that lets go within a minute: its first trigger wants a replica for less, it
 * has fewer replicas at most, and what goes waits for nothing. Its queries, its other triggers, its least replicas, its fallback and
 * how fast it grows are those of the component.
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
