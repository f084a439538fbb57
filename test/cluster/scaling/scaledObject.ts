import { z } from 'zod';

const triggerSchema = z.looseObject({
  type: z.literal('prometheus'),
  metadata: z.looseObject({ query: z.string(), threshold: z.string() }),
});

/** The fields of a ScaledObject that the suite uses; the rest is kept. */
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
