import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { inFolder } from '../inFolder.ts';
import type { Scenario } from './scenario.ts';
import { accessLog } from './scenarios/accessLog.ts';
import { addedLatency } from './scenarios/addedLatency.ts';
import { apis } from './scenarios/apis.ts';
import { chunks } from './scenarios/chunks.ts';
import { coldStart } from './scenarios/coldStart.ts';
import { cuts } from './scenarios/cuts.ts';
import { firstToken } from './scenarios/firstToken.ts';
import { image } from './scenarios/image.ts';
import { manyStreams } from './scenarios/manyStreams.ts';
import { memory } from './scenarios/memory.ts';
import { otherCalls } from './scenarios/otherCalls.ts';
import { refusals } from './scenarios/refusals.ts';
import { traces } from './scenarios/traces.ts';
import { wholeAnswers } from './scenarios/wholeAnswers.ts';
import { startTargets } from './targets.ts';
import { warmUp } from './warmUp.ts';

/** In the order in which they run: whole answers once services are about as warm as they become, and what fills the heaps after them. */
const SCENARIOS: readonly Scenario[] = [
  chunks,
  apis,
  addedLatency,
  firstToken,
  refusals,
  traces,
  wholeAnswers,
  otherCalls,
  image,
  cuts,
  memory,
  manyStreams,
  coldStart,
  accessLog,
];
const ROUNDS = 3;
const LONG_ROUNDS = 7;

/** The cost of calls by each route: processor time of each part, time and memory, against baselines on the same engine. */
export const bench: Bench = {
  measures: 'what a gateway adds to calls, against nginx, bare Node and other gateways in the same run',
  parts: SCENARIOS.map(({ name }) => name),
  async run({ seed, parts, isLong, progress, timed, measure }) {
    const chosen = SCENARIOS.filter(({ name }) => parts.length === 0 || parts.includes(name));
    const withPeers = chosen.some(({ hasPeers }) => hasPeers);
    return inFolder(async (dir) => {
      const targets = await timed('start', () => startTargets(dir, { progress, withPeers }));
      try {
        await timed('warm-up', () => warmUp(targets, progress));
        const figures: Figure[] = [];
        const options = { seed, isLong, rounds: isLong ? LONG_ROUNDS : ROUNDS, progress };
        for (const scenario of chosen)
          figures.push(...(await measure(scenario.name, () => scenario.run(targets, options))));
        return figures;
      } finally {
        await targets.stop();
      }
    });
  },
};
