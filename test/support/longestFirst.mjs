import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/**
 * The files with the longest duration, in the order in which they must begin. Otherwise one worker would run one of them alone at the
 * end. Jest knows durations only of files that it has run before. In a fresh clone it orders files by size. In a build of
 * 28 November 2026 the first took 520 s and the last 30 s.
 */
const LONGEST = [
  'test/simulation/simulation.deep.test.ts',
  'test/fuzz/fuzz.deep.test.ts',
  'test/attacks/hoards.deep.test.ts',
  'dashboard/test/accountAndKeys.deep.test.ts',
  'test/clients/clients.deep.test.ts',
  'dashboard/test/calls.deep.test.ts',
  'test/rollingRestart.deep.test.ts',
  'test/twoRegions.deep.test.ts',
  'test/sharedStack.deep.test.ts',
  'test/eventLogs.deep.test.ts',
  'test/redisCluster.deep.test.ts',
  'test/attacks/hostileEngines.deep.test.ts',
  'test/clients/errorsAndKeepAlive.deep.test.ts',
  'test/objectStore.deep.test.ts',
  'dashboard/test/journey.deep.test.ts',
  'test/runningEngines.deep.test.ts',
  'deploy/local/test/running.deep.test.ts',
  'test/redisLost.deep.test.ts',
  'test/telemetry.deep.test.ts',
  'test/attacks/hostileParts.deep.test.ts',
  'test/fuzz/console.deep.test.ts',
  'test/fuzz/account.deep.test.ts',
  'dashboard/test/pages.test.ts',
  'test/conformance/media.test.ts',
  'test/conformance/plain.test.ts',
  'test/sharedStack.test.ts',
  'test/objectStore.test.ts',
  'test/conformance/outages.test.ts',
  'services/model-router/test/fleetFaults.deep.test.ts',
  'test/conformance/recorded.test.ts',
  'services/media-jobs/test/jobs.test.ts',
  'services/usage-ledger/test/sharedPartitions.deep.test.ts',
  'deploy/observability/test/rules.deep.test.ts',
  'test/conformance/wire.test.ts',
  'services/model-router/src/engines/engineRegistry.test.ts',
  'services/media-jobs/test/jobEndRaces.deep.test.ts',
  'libs/holds/src/follow/followRedis.test.ts',
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
