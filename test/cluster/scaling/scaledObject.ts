import { z } from 'zod';

const triggerSchema = z.looseObject({
  type: z.literal('prometheus'),
  metadata: z.looseObject({ query: z.string(), threshold: z.string() }),
});

/** What of a ScaledObject the suite goes by; the rest is kept as it is. */
export const scaledObjectSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    minReplicaCount: z.number(),
    maxReplicaCount: z.number(),
    fallback: z.looseObject({ replicas: z.number() }),
    advanced: z.looseObject({
      horizontalPodAutoscalerConfig: z.looseObject({ behavior: z.looseObject({ scaleDown: z.unknown() }) }),
    }),
    triggers: z.array(triggerSchema),
  }),
});
export type ScaledObject = z.output<typeof scaledObjectSchema>;
