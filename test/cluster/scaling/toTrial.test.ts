import { expect, it } from '@jest/globals';
import { scaledObjectSchema } from './scaledObject.ts';
import { toTrial } from './toTrial.ts';

const scaleUp = { policies: [{ type: 'Percent', value: 100, periodSeconds: 30 }] };
const trigger = (query: string, threshold: string) => ({ type: 'prometheus', metadata: { query, threshold } });
const edge = scaledObjectSchema.parse({
  metadata: { name: 'edge', namespace: 'turnpike-eu' },
  spec: {
    minReplicaCount: 2,
    maxReplicaCount: 12,
    fallback: { replicas: 4 },
    advanced: {
      horizontalPodAutoscalerConfig: {
        behavior: { scaleUp, scaleDown: { stabilizationWindowSeconds: 900 } },
      },
    },
    triggers: [trigger('sum(open)', '1000'), trigger('sum(busy)', '0.6')],
  },
});

it('lowers what two cores cannot reach and what a test cannot wait for, and nothing else', () => {
  const { spec, ...rest } = toTrial(edge, { threshold: 10, most: 4 });
  expect(rest).toEqual({ metadata: edge.metadata });
  expect(spec).toEqual({
    ...edge.spec,
    maxReplicaCount: 4,
    advanced: {
      horizontalPodAutoscalerConfig: {
        behavior: {
          scaleUp,
          scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] },
        },
      },
    },
    triggers: [trigger('sum(open)', '10'), trigger('sum(busy)', '0.6')],
  });
});
