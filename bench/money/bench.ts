import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench, BenchOptions } from '../bench.ts';
import { divideRounds, type Figure, single } from '../figure.ts';
import { median } from '../median.ts';
import { measureLargeWorkspace } from './largeWorkspace.ts';
import { measureManyWorkspaces } from './manyWorkspaces.ts';
import { measureRedisTime, type RedisTime } from './redisTime.ts';

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
  const rounds = await measureRedisTime(progress);
  const of = (name: keyof RedisTime): number[] => rounds.map((round) => round[name]);
  const middle = (name: keyof RedisTime): string => `${median(of(name)).toFixed(1)} µs`;
  print(
    `Redis’ time for a call: bare scripts for the writes ${middle('bareUs')}, with the reads ${middle('readingUs')}`,
  );
  const parts = { admit: 'admitUs', settle: 'settleUs', 'its share of an absorb': 'absorbUs' } as const;
  for (const [name, part] of Object.entries(parts)) print(`  ${name.padEnd(24)} ${middle(part)}`);
  const figure: Figure = {
    name: 'Redis’ time for admit, settle and absorb ÷ bare scripts with the same writes',
    rounds: divideRounds(of('callUs'), of('bareUs')),
    atMost: MOST_REDIS_TIME,
    floor: divideRounds(of('readingUs'), of('bareUs')),
  };
  return isLong ? [figure, ...(await measureLong(ledger, progress))] : [figure];
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
  const command = { unit: 'ms', atMost: LONGEST_COMMAND_MS };
  const recovery = { unit: 's', atMost: LONGEST_RECOVERY_S };
  return [
    single(`admitting in ${beside} ÷ in one of one key`, large.admitRatio, { atMost: MOST_FOR_LARGE }),
    single('an absorb of it ÷ one of the small one', large.absorbRatio, { atMost: MOST_FOR_LARGE }),
    single('longest command of Redis meanwhile', large.longestCommandMs, command),
    single(`from an empty Redis until every one of ${many.routers} routers admits`, many.gateS, recovery),
    single(`and until each of ${many.active} active workspaces has been let in`, many.recoveryS, recovery),
    single('what the sweeper’s walk takes of Redis’ core', many.sweepOfRedis, { atMost: MOST_OF_A_CORE }),
    single('longest command of Redis while it recovers', many.longestCommandMs, command),
  ];
}

const print = (line: string): void => void process.stdout.write(`  ${line}\n`);
