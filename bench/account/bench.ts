import { randomUUID } from 'node:crypto';
import type { StackDescription } from '@turnpike/local-stack/stackFile';
import type { Bench } from '../bench.ts';
import { type Child, startChild } from '../calls/child.ts';
import type { LoadOrder, LoadReport } from '../calls/processes/load.ts';
import { OPEN_LIMITS } from '../calls/startOpenStack.ts';
import { toBytes } from '../calls/wire.ts';
import { divideRounds, NoFigure } from '../figure.ts';
import { withStack } from '../inFolder.ts';
import { percentile } from '../median.ts';
import { operatorOf, portOf } from '../region.ts';

const ROUNDS = { short: 5, long: 15 };
/** Requests a second and seconds of a round. */
const CALLS = { kind: 'open', connections: 32, seconds: 6, rate: 20, withinMs: 0 } as const;
const FLOOD = { kind: 'open', connections: 64, seconds: 6, rate: 500, withinMs: 0 } as const;
/** Most that the account layer may add to the median. */
const MOST_RATIO = 1.05;
const CONSOLE_PATH = '/console/keys';

type Load = Child<LoadOrder, LoadReport>;

/** Chats of a region with simulated engines, beside an account layer that hangs and a console host that is flooded. */
export const bench: Bench = {
  measures: `half of the chats at ${CALLS.rate}/s beside a hung control plane, and beside ${FLOOD.rate} console requests/s`,
  isOnRequest: true,
  async run({ progress, isLong, timed }) {
    return withStack({ timed }, async (running) => {
      const { stack } = running;
      const [load, flood]: [Load, Load] = await Promise.all([startChild('load'), startChild('load')]);
      try {
        const operator = await operatorOf(running);
        const apiKey = await operator.makeKey(await operator.makeWorkspace({ creditUsd: '1000' }), OPEN_LIMITS);
        const controlPlane = stack.services['control-plane'].pid;
        const [quiet, hung, flooded]: [number[], number[], number[]] = [[], [], []];
        const chats = () => measureChats(load, { stack, apiKey });
        await chats();
        for (let round = 0; round < ROUNDS[isLong ? 'long' : 'short']; round += 1) {
          progress(`round ${round + 1}`);
          quiet.push(await chats());
          process.kill(controlPlane, 'SIGSTOP');
          hung.push(await chats().finally(() => process.kill(controlPlane, 'SIGCONT')));
          const [p50] = await Promise.all([chats(), floodConsole(flood, stack)]);
          flooded.push(p50);
        }
        return [
          { name: 'chat, p50', rounds: quiet, unit: 'ms' },
          { name: 'control plane hung ÷ quiet', rounds: divideRounds(hung, quiet), atMost: MOST_RATIO },
          { name: 'console flooded ÷ quiet', rounds: divideRounds(flooded, quiet), atMost: MOST_RATIO },
        ];
      } finally {
        load.stop();
        flood.stop();
      }
    });
  },
};

/** The median of some chats, ms. */
async function measureChats(
  load: Load,
  { stack, apiKey }: { stack: StackDescription; apiKey: string },
): Promise<number> {
  const messages = [{ role: 'user', content: `Round ${randomUUID()} [[sim: ttft_ms=20 itl_ms=5 tokens=10]]` }];
  const body = JSON.stringify({ model: 'llama-3.3-70b-instruct', messages });
  const port = portOf(stack.regions.us.base_url);
  const request = toBytes({ method: 'POST', path: '/v1/chat/completions', body }, { port, apiKey });
  const report = await load.ask({ ...CALLS, port, requests: [request] });
  const others = Object.keys(report.statuses).filter((status) => status !== '200');
  if (others.length > 0) throw new NoFigure(`not every chat was answered with 200: ${JSON.stringify(report.statuses)}`);
  return percentile(report.wholeMs, 0.5);
}

/** Requests of a page with a token that is none, until the flood limit of the console host and beyond. */
async function floodConsole(load: Load, { account, regions: { us } }: StackDescription): Promise<void> {
  const port = portOf(us.console_url);
  const headers = { origin: account.origin };
  const request = toBytes({ method: 'GET', path: CONSOLE_PATH, body: '' }, { port, apiKey: 'none', headers });
  const { statuses } = await load.ask({ ...FLOOD, port, requests: [request] });
  if (!statuses['429']) throw new NoFigure(`the console host took the flood: ${JSON.stringify(statuses)}`);
}
