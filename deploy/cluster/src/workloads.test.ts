import { expect, it } from '@jest/globals';
import { isReady, type Workload } from './workloads.ts';

const workload = (status: Workload['status'], kind: Workload['kind'] = 'Deployment'): Workload => ({
  kind,
  metadata: { name: 'auth', generation: 2 },
  spec: { replicas: 2, template: {} },
  status,
});
const whole = { observedGeneration: 2, replicas: 2, readyReplicas: 2, updatedReplicas: 2 };

it.each([
  ['all its pods are new and ready', workload(whole), true],
  ['its latest description is not looked at yet', workload({ ...whole, observedGeneration: 1 }), false],
  ['a pod is not ready', workload({ ...whole, readyReplicas: 1 }), false],
  ['a pod is of the version before', workload({ ...whole, updatedReplicas: 1 }), false],
  ['a pod of the version before still ends', workload({ ...whole, replicas: 3 }), false],
  ['nothing runs yet', workload({}), false],
  ['a job has succeeded', workload({ succeeded: 1 }, 'Job'), true],
  ['a job has failed', workload({ failed: 1 }, 'Job'), false],
])('where %s', (_what, given, expected) => {
  expect(isReady(given)).toBe(expected);
});
