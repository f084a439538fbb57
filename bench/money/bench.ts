import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench, BenchOptions } from '../bench.ts';
import { divideRounds, type Figure } from '../figure.ts';
import { median } from '../median.ts';
import { measureLargeWorkspace } from './largeWorkspace.ts';
import { measureManyWorkspaces } from './manyWorkspaces.ts';
import { measureRedisTime } from './redisTime.ts';

const MOST_REDIS_TIME = 1.5;
const MOST_FOR_LARGE = 2;
const LONGEST_RECOVERY_S = 10;
const MOST_OF_A_CORE = 0.05;
const LONGEST_COMMAND_MS = 50;

/** The cost of the gate, settlement and recovery, on a real Redis and a real ledger (docs/redis-lost.md). */
export const bench: Bench = {
  measures:
    'Redis’ time for a call; with --long one large workspace beside a small one, and 100 routers that find Redis empty',
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

async function measure(ledger: TestLedger, { progress, isLong }: BenchOptions): Promise<Figure[]> {
  const time = await measureRedisTime(progress);
  print(
    `Redis’ time for a call: bare scripts for the writes ${median(time.bareUs).toFixed(1)} µs, with the reads ${median(time.readingUs).toFixed(1)} µs`,
  );
  const parts = { admit: time.admitUs, settle: time.settleUs, 'its share of an absorb': time.absorbUs };
  for (const [name, rounds] of Object.entries(parts)) print(`  ${name.padEnd(24)} ${median(rounds).toFixed(1)} µs`);
  const figures: Figure[] = [
    {
      name: 'Redis’ time for admit, settle and absorb ÷ bare scripts with the same writes',
      rounds: divideRounds(time.callUs, time.bareUs),
      atMost: MOST_REDIS_TIME,
      floor: divideRounds(time.readingUs, time.bareUs),
    },
  ];
  return isLong ? [...figures, ...(await measureLong(ledger, progress))] : figures;
}

async function measureLong(ledger: TestLedger, progress: BenchOptions['progress']): Promise<Figure[]> {
  const large = await measureLargeWorkspace(ledger, progress);
  const beside = `a workspace of ${large.keys} keys and ${large.calls} open calls`;
  const many = await measureManyWorkspaces(ledger, progress);
  print(
    `${many.routers} routers, ${many.workspaces} workspaces in Redis, ${many.active} of them with ${many.calls} open calls in all`,
  );
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  print(
    `  heartbeats of all routers: ${percent(many.heartbeatsOfACore)} of a core, and ${percent(many.heartbeatsOfRedis)} of Redis’`,
  );
  return [
    { name: `admitting in ${beside} ÷ in one of one key`, rounds: [large.admitRatio], atMost: MOST_FOR_LARGE },
    { name: 'an absorb of it ÷ one of the small one', rounds: [large.absorbRatio], atMost: MOST_FOR_LARGE },
    {
      name: 'longest command of Redis meanwhile',
      rounds: [large.longestCommandMs],
      unit: 'ms',
      atMost: LONGEST_COMMAND_MS,
    },
    {
      name: `from an empty Redis until every one of ${many.routers} routers admits`,
      rounds: [many.gateS],
      unit: 's',
      atMost: LONGEST_RECOVERY_S,
    },
    {
      name: `and until each of ${many.active} active workspaces has been let in`,
      rounds: [many.recoveryS],
      unit: 's',
      atMost: LONGEST_RECOVERY_S,
    },
    { name: 'what the sweeper’s walk takes of Redis’ core', rounds: [many.sweepOfRedis], atMost: MOST_OF_A_CORE },
    {
      name: 'longest command of Redis while it recovers',
      rounds: [many.longestCommandMs],
      unit: 'ms',
      atMost: LONGEST_COMMAND_MS,
    },
  ];
}

const print = (line: string): void => void process.stdout.write(`  ${line}\n`);
