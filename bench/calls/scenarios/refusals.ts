import { measureCost, toRequests } from '../measureCost.ts';
import { inRounds, partOf, printParts, toRatio, totalOf } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { toChatRequest } from '../wire.ts';

const STATUSES = [401, 402, 429] as const;
const MOST_OF_BARE = 2.5;
const order = { kind: 'closed', connections: 32, seconds: 0.5, rate: 0, withinMs: 0 } as const;
/** The time until refusals are compiled: all of them in turn, through the edge, and those of the bare server. */
const warm = { kind: 'closed', connections: 32, seconds: 3, rate: 0, withinMs: 0 } as const;
const first = { kind: 'once', connections: 1, seconds: 0, rate: 0, withinMs: 0 } as const;

/** Processor time of a refusal, in storms of them: a wrong key, no credit, the requests of a minute used up. */
export const refusals: Scenario = {
  name: 'refusals',
  async run(targets, { rounds: count, progress }) {
    const { bare, bareBehindPipe, bareAsking, refusedKeys } = targets;
    const storms = STATUSES.flatMap((status) =>
      [targets.router, targets.edge].map((target) => ({
        status,
        isBehindEdge: target === targets.edge,
        target: {
          ...target,
          name: `${status} of ${target.name}`,
          apiKeys: [refusedKeys[status]],
          // Nothing is held or recorded of what is refused.
          settled: async () => undefined,
        } satisfies Target,
      })),
    );
    // The first call of all uses up the one request a minute.
    const { edge } = targets;
    const once = { ...edge, apiKeys: [refusedKeys[429]] };
    await targets.load.ask({ ...first, port: edge.port, requests: toRequests(once, toChatRequest()) });
    await warmUp(targets);
    await edge.settled();
    const all = [bare, bareBehindPipe, bareAsking, ...storms.map(({ target }) => target)];
    const rounds = await inRounds(count, all, async (target, round) => {
      progress(`refusals, round ${round + 1} of ${count}: ${target.name}`);
      const status = storms.find((storm) => storm.target === target)?.status ?? 401;
      return (await measureCost(targets, { target, request: toChatRequest(), order, status })).perCall;
    });
    printParts('processor time of a refusal, µs', rounds);
    /** Without credit a call is refused by what Redis knows of it. */
    const bareOf = ({ status, isBehindEdge }: (typeof storms)[number]): number[] => {
      const server = totalOf(rounds, status === 402 ? bareAsking : bare);
      const pipe = partOf(rounds, bareBehindPipe, 'pipe');
      return isBehindEdge ? server.map((us, round) => us + (pipe[round] ?? Number.NaN)) : server;
    };
    return storms.map((storm) => {
      const name = `${storm.target.name} ÷ bare node:http`;
      // The barest that makes another refusal is the bare server itself.
      const isBareItself = !storm.isBehindEdge && storm.status !== 402;
      return toRatio(
        name,
        { rounds, divisor: bare, atMost: MOST_OF_BARE },
        () => totalOf(rounds, storm.target),
        isBareItself ? undefined : () => bareOf(storm),
      );
    });
  },
};

async function warmUp({ load, otherLoad, bareBehindPipe, bareAsking, edge, refusedKeys }: Targets): Promise<void> {
  const refused = toRequests({ ...edge, apiKeys: Object.values(refusedKeys) }, toChatRequest());
  const warmBare = async (): Promise<void> => {
    for (const { port } of [bareBehindPipe, bareAsking])
      await otherLoad.ask({ ...warm, seconds: warm.seconds / 2, port, requests: refused });
  };
  await Promise.all([load.ask({ ...warm, port: edge.port, requests: refused }), warmBare()]);
}
