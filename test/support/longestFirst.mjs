import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/**
 * The files that take longest, in the order in which they have to begin, so that no worker is left with one of them at the
 * end. Jest knows by itself how long files took only where it has run them before.
 */
const LONGEST = [
  'test/fuzz/fuzz.test.ts',
  'test/simulation/simulation.test.ts',
  'test/conformance/plain.test.ts',
  'test/attacks/hoards.test.ts',
  'test/sharedStack.test.ts',
  'services/model-router/test/fleetFaults.test.ts',
  'test/rollingRestart.test.ts',
  'test/objectStore.test.ts',
  'test/eventLogs.test.ts',
  'deploy/local/test/running.test.ts',
  'test/redisLost.test.ts',
  'test/attacks/hostileParts.test.ts',
  'libs/internal-api/src/followCatalog.test.ts',
  'libs/http-service/src/connection.test.ts',
  'services/model-router/src/fleet/engineRegistry.test.ts',
  'test/telemetry.test.ts',
  'test/conformance/outages.test.ts',
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
