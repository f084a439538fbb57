import { join } from 'node:path';
import { untilOpen } from '../../calls/untilOpen.ts';
import { toChatRequest } from '../../calls/wire.ts';
import { startReplica } from '../../startReplica.ts';
import { measureInOrder, OF_CALLS, pick, toLines } from '../callLines.ts';
import { type Curve, toLine } from '../curve.ts';
import { measureCalls, readRest, sendAll, toAll } from '../measureCalls.ts';

const SIZES = [1, 4];
const LONG_SIZES = [1, 2, 4];
/** Calls a second of each router. */
const RATE_OF_EACH = 100;
const WARM_UP_SECONDS = 2;

/** Routers of a region, each with its share of the calls. */
export const routers: Curve = {
  name: 'routers',
  title: 'Processor time of a call by routers, each with 100 calls a second',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack();
    const { router, redis, ledger, postgres } = stack.behind;
    const requests = toAll(stack.apiKeys, toChatRequest());
    const ports = [stack.ports.router];
    const parts: Record<string, number> = { router, redis, ledger, postgres };
    let atRest: Record<string, number> = {};
    const measured = await measureInOrder(isLong ? LONG_SIZES : SIZES, rounds, {
      async grow(size) {
        progress(`starting ${size} routers`);
        const further = Array.from({ length: size }, (_, index) => index + 1).slice(ports.length);
        const start = async (n: number): Promise<number> => {
          const name = `model-router-${n}`;
          const env = { SPOOL_DIR: join(stack.stateDir, name) };
          const replica = await startReplica(stack.running, 'model-router', { name, env });
          await untilOpen(replica.port);
          parts[`router ${n}`] = replica.pid;
          return replica.port;
        };
        for (const port of await Promise.all(further.map(start))) {
          ports.push(port);
          const warm = { ...stack, ports: { ...stack.ports, router: port } };
          for (let second = 0; second < WARM_UP_SECONDS; second += 1) await sendAll(warm, requests, 1);
        }
        atRest = await readRest(parts);
      },
      measure(size) {
        progress(`${size} routers`);
        return measureCalls(stack, { requests, parts, ports, atRest, rate: RATE_OF_EACH * size });
      },
    });
    // All routers together come to more calls: what the others do at rest is no part of a call.
    const shared = Object.entries({ Redis: OF_CALLS.Redis, 'ledger + Postgres': OF_CALLS['ledger + Postgres'] });
    return [
      ...toLines(measured, { routers: OF_CALLS.router }),
      ...shared.map(([name, parts]) => toLine(name, measured, ({ beyondRest }) => pick(beyondRest, parts))),
    ];
  },
};
