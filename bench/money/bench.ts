import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench, BenchOptions } from '../bench.ts';
import { measureLargeWorkspace } from './largeWorkspace.ts';
import { measureManyWorkspaces } from './manyWorkspaces.ts';
import { measureRedisTime } from './redisTime.ts';

const MOST_REDIS_TIME = 2;
const MOST_FOR_LARGE = 2;
const LONGEST_RECOVERY_S = 10;
const MOST_OF_A_CORE = 0.05;
const LONGEST_COMMAND_MS = 50;

/** What the gate, settlement and recovery cost, on a real Redis and a real ledger (docs/redis-lost.md). */
export const bench: Bench = {
  measures: 'Redis’ time for a call, one large workspace beside a small one, and 100 routers that find Redis empty',
  async run(options) {
    const ledger = await openTestLedger();
    try {
      await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
      return await measure(ledger, options);
    } finally {
      await ledger.close();
    }
  },
};

async function measure(ledger: TestLedger, { progress }: BenchOptions): Promise<boolean> {
  const figures: boolean[] = [];
  const figure = (name: string, value: number, most: number, digits: number): void => {
    const isReached = value <= most;
    figures.push(isReached);
    print(`${name.padEnd(66)} ${value.toFixed(digits).padStart(8)}, wanted ≤ ${most} ${isReached ? '✓' : '✗'}`);
  };

  const time = await measureRedisTime(progress);
  print(`Redis’ time for a call: a bare script for each write          ${time.bareUs.toFixed(1).padStart(8)} µs`);
  print(`  admit, settle and its share of an absorb                    ${time.callUs.toFixed(1).padStart(8)} µs`);
  print(
    `  of that admit ${time.admitUs.toFixed(1)}, settle ${time.settleUs.toFixed(1)}, absorb ${time.absorbUs.toFixed(1)}`,
  );
  figure('  of a call ÷ bare', time.callUs / time.bareUs, MOST_REDIS_TIME, 2);

  const large = await measureLargeWorkspace(ledger, progress);
  print(`a workspace of ${large.keys} keys and ${large.calls} open calls, beside one of one key and no open call`);
  figure('  admitting ÷ admitting in the small one', large.admitRatio, MOST_FOR_LARGE, 2);
  figure('  an absorb ÷ one in the small one', large.absorbRatio, MOST_FOR_LARGE, 2);
  figure('  longest command meanwhile, ms', large.longestCommandMs, LONGEST_COMMAND_MS, 1);

  const many = await measureManyWorkspaces(ledger, progress);
  print(
    `${many.routers} routers, ${many.workspaces} workspaces in Redis, ${many.active} of them with ${many.calls} open calls in all`,
  );
  figure('  from an empty Redis until every router admits, s', many.gateS, LONGEST_RECOVERY_S, 1);
  figure('  and until every active workspace has been let in, s', many.recoveryS, LONGEST_RECOVERY_S, 1);
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  print(
    `  heartbeats of all routers: ${percent(many.heartbeatsOfACore)} of a core, and ${percent(many.heartbeatsOfRedis)} of Redis’`,
  );
  figure('  what the sweeper’s walk takes of Redis’ core', many.sweepOfRedis, MOST_OF_A_CORE, 3);
  figure('  longest command of Redis, ms', many.longestCommandMs, LONGEST_COMMAND_MS, 1);
  return figures.every(Boolean);
}

const print = (line: string): void => void process.stdout.write(`  ${line}\n`);
