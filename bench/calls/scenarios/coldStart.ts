import { SERVICE_NAMES } from '@turnpike/config/services';
import { divideRounds, type Figure } from '../../figure.ts';
import { median } from '../../median.ts';
import { startChild } from '../child.ts';
import { endService, startAgain } from '../restartService.ts';
import { print } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { untilOpen } from '../untilOpen.ts';

/** From the start of each service's process until it says that it is ready, beside that of a bare `node:http` server. */
export const coldStart: Scenario = {
  name: 'cold-start',
  async run({ running }, { rounds: count, progress }) {
    const bare: number[] = [];
    const times = new Map(SERVICE_NAMES.map((name) => [name, [] as number[]]));
    for (let round = 0; round < count; round += 1) {
      bare.push(await timed(startBare));
      for (const [name, ofService] of times) {
        progress(`cold start, round ${round + 1} of ${count}: ${name}`);
        await endService(running, name);
        ofService.push(await timed(() => startAgain(running, name)));
      }
    }
    print(`cold start, ms: a bare node:http server ${median(bare).toFixed(0)}`);
    return [...times].map(([name, ofService]): Figure => {
      print(`  ${name.padEnd(22)} ${median(ofService).toFixed(0).padStart(8)}`);
      return { name: `cold start: ${name} ÷ bare node:http`, rounds: divideRounds(ofService, bare) };
    });
  },
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function startBare(): Promise<void> {
  const child = await startChild('bareServer', { ANSWER_STATUS: '401' });
  await untilOpen(Number(child.hello));
  child.stop();
}
