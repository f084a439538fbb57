import { describe } from '@jest/globals';
import { testCanary } from './event-logs/canary.ts';
import { testMainJob } from './event-logs/mainJob.ts';
import { useStack } from './event-logs/stack.ts';

const isKafkaHere = process.env.TURNPIKE_TEST_KAFKA === 'available';

describe.each([
  ['the embedded event log', { kafka: false }],
  ['Kafka', { kafka: true }],
])('over %s', (_, { kafka }) => {
  (kafka && !isKafkaHere ? describe.skip : describe)('a stack', () => {
    useStack({ kafka });
    describe('the main job', testMainJob);
    // The last, as it ends by killing the router.
    describe('what clients say and get', () => testCanary({ kafka }));
  });
});
