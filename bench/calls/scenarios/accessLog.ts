import { dirname, join } from 'node:path';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { divideRounds } from '../../figure.ts';
import { startReplica } from '../../startReplica.ts';
import { measureCost } from '../measureCost.ts';
import { edgeAndRouterOf, inRounds, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { sendWhole } from '../warmUp.ts';
import { toChatRequest } from '../wire.ts';

const WARM_UP_CALLS = 8_000;
/** Rounds for each that a scenario is asked for: what is looked for is a hundredth, and rounds differ by tenths. */
const TIMES = 5;
const order = { kind: 'closed', connections: 32, seconds: 1.2, rate: 0, withinMs: 0 } as const;

/**
 * The processor time that the access log adds to a whole answer, a line of the edge and one of the router. It comes last, as the
 * routers that it starts stay in the stack.
 */
export const accessLog: Scenario = {
  name: 'access-log',
  async run(targets, { rounds: count, progress }) {
    progress('starting an edge and a router with the access log, and another two without');
    const logged = await startPair(targets, 'access log', '1');
    const unlogged = await startPair(targets, 'no access log', '0');
    for (const target of [logged, unlogged]) await sendWhole(targets, target, WARM_UP_CALLS);
    await logged.settled();
    const rounds = await inRounds(count * TIMES, [logged, unlogged], async (target, round) => {
      progress(`access log, round ${round + 1} of ${count * TIMES}: ${target.name}`);
      return (await measureCost(targets, { target, request: toChatRequest(), order })).perCall;
    });
    return [
      toFigure('whole answer, edge + router: access log ÷ none', { atMost: 1.03 }, () =>
        divideRounds(edgeAndRouterOf(rounds, logged), edgeAndRouterOf(rounds, unlogged)),
      ),
    ];
  },
};

/** Starts an edge in front of a router of its own. Both share the stack's other parts. */
async function startPair({ edge, running }: Targets, name: string, sampleRatio: string): Promise<Target> {
  const env = { ACCESS_LOG_SAMPLE_RATIO: sampleRatio };
  const id = name.replaceAll(' ', '-');
  const spool = join(dirname(running.stack.regions.us.secrets_file), `spool-${id}`);
  const router = await startReplica(running, 'model-router', {
    name: `router-${id}`,
    env: { ...env, SPOOL_DIR: spool },
  });
  const front = await startReplica(running, 'edge', {
    name: `edge-${id}`,
    env: { ...env, CONSOLE_PORT: String(await findFreePort()), ROUTER_URL: `http://127.0.0.1:${router.port}` },
  });
  return { ...edge, name, port: front.port, parts: { ...edge.parts, edge: front.pid, router: router.pid } };
}
