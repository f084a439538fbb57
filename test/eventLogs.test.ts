import { describe } from '@jest/globals';
import { testCanary } from './event-logs/canary.ts';
import { testMainJob } from './event-logs/mainJob.ts';
import { useStack } from './event-logs/stack.ts';

const isKafkaHere = process.env.TURNPIKE_TEST_KAFKA === 'available';

// eventLogs.deep.test.ts has the embedded event log, which every other stack of tests has too.
(isKafkaHere ? describe : describe.skip)('over Kafka', () => {
  useStack({ kafka: true });
  describe('the main job', testMainJob);
  // The last, as it ends by killing the router.
  describe('what clients say and get', () => testCanary({ kafka: true }));
});
