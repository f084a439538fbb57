import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/**
 * The files that take longest, in the order in which they have to begin, so that no worker is left with one of them at the
 * end. Jest knows by itself how long files took only where it has run them before, and in a fresh clone goes by their size. By the
 * clock of a build, 27 November 2026: 400 s for the first, 30 s for the last.
 */
const LONGEST = [
  'test/simulation/simulation.deep.test.ts',
  'test/fuzz/fuzz.deep.test.ts',
  'test/attacks/hoards.deep.test.ts',
  'test/clients/clients.deep.test.ts',
  'test/twoRegions.deep.test.ts',
  'test/conformance/plain.test.ts',
  'test/conformance/media.test.ts',
  'test/sharedStack.test.ts',
  'test/attacks/hoards.test.ts',
  'test/redisCluster.test.ts',
  'test/objectStore.test.ts',
  'test/conformance/wire.test.ts',
  'test/conformance/outages.test.ts',
  'test/eventLogs.test.ts',
  'test/redisLost.test.ts',
  'services/model-router/test/fleetFaults.test.ts',
  'services/media-jobs/test/jobs.test.ts',
  'test/fuzz/fuzz.test.ts',
  'deploy/local/test/running.test.ts',
  'deploy/observability/test/rules.test.ts',
  'test/telemetry.test.ts',
  'test/simulation/simulation.test.ts',
  'libs/holds/src/call/recordCalls.test.ts',
  'services/usage-ledger/test/sharedPartitions.test.ts',
  'services/media-jobs/src/backends/createBackends.test.ts',
  'test/simulation/crossCheck.test.ts',
  'test/conformance/recorded.test.ts',
  'libs/holds/src/follow/followRedis.test.ts',
  'test/attacks/hostileParts.test.ts',
  'services/media-jobs/test/endsMeet.test.ts',
  'test/attacks/hostileEngines.test.ts',
];

export default class LongestFirst extends Sequencer {
  /** @param {{path: string, context: {config: {rootDir: string}}}[]} tests */
  sort(tests) {
    const turns = new Map(super.sort([...tests]).map((test, at) => [test, at + LONGEST.length]));
    for (const test of tests) {
      const turn = LONGEST.indexOf(relative(test.context.config.rootDir, test.path));
      if (turn >= 0) turns.set(test, turn);
    }
    return tests.toSorted((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0));
  }
}
