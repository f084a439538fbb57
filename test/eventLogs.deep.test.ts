import { describe } from '@jest/globals';
import { testCanary } from './event-logs/canary.ts';
import { testMainJob } from './event-logs/mainJob.ts';
import { useStack } from './event-logs/stack.ts';

describe('over the embedded event log', () => {
  useStack({ kafka: false });
  describe('the main job', testMainJob);
  // The last, as it ends by killing the router.
  describe('what clients say and get', () => testCanary({ kafka: false }));
});
