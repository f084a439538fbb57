import { createDb } from '../../services/usage-ledger/src/database/createDb.ts';
import type { PriceList } from '../../services/usage-ledger/src/reconcile/priceList.ts';
import { readBooks } from '../../services/usage-ledger/src/reconcile/readBooks.ts';
import { sealBooks } from '../../services/usage-ledger/src/reconcile/sealBooks.ts';
import { verifySeals } from '../../services/usage-ledger/src/reconcile/verifySeals.ts';
import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench } from '../bench.ts';
import { type Figure, single } from '../figure.ts';
import { makeHistory } from './makeHistory.ts';

const ROWS = 50_000;
const LONG_ROWS = 1_000_000;
const WANTED_SECONDS_PER_MILLION = 60;
const MINUTES_10_MS = 10 * 60 * 1_000;

/** A month of calls, sealed and audited for the first time and again: `AUDIT_ROWS=10000000` for ten million. */
export const bench: Bench = {
  measures:
    'sealing and auditing a month of calls, the first time and after (AUDIT_ROWS of them; 50,000 unless set, and 1,000,000 with --long)',
  async run({ progress, isLong }) {
    const rows = Number(process.env.AUDIT_ROWS ?? (isLong ? LONG_ROWS : ROWS));
    const ledger = await openTestLedger();
    const db = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 2, statementTimeoutMs: MINUTES_10_MS });
    try {
      progress('making the calls');
      const made = await timed(() => makeHistory(ledger, rows));
      print(`${rows.toLocaleString('en')} calls of 30 days, made in`, made.seconds);
      return await measure(db, rows, progress);
    } finally {
      await db.$disconnect();
      await ledger.close();
    }
  },
};

async function measure(db: TestLedger['db'], rows: number, progress: (text: string) => void): Promise<Figure[]> {
  const prices: PriceList = [1, 2, 3].map((version) => ({
    version,
    model: 'small-chat',
    of: {
      prompt: 150n * 10n ** 9n,
      inputCacheRead: 15n * 10n ** 9n,
      completion: 600n * 10n ** 9n,
      request: 0n,
      image: 0n,
    },
  }));
  const listPrices = async () => prices;
  const audit = async (label: string, workspaceId?: string): Promise<number> => {
    progress(label);
    const { seconds, value } = await timed(() => readBooks(db, prices, workspaceId));
    const differing = value.flatMap(({ checks }) => checks.filter(({ verdict }) => verdict !== 'equal'));
    if (differing.length > 0 || value.length === 0) throw new Error(`${label}: ${JSON.stringify(differing, toText)}`);
    print(label, seconds);
    return seconds;
  };
  const seal = async (label: string): Promise<number> => {
    progress(label);
    const options = { listPrices, timeMs: Number.MAX_SAFE_INTEGER, signal: new AbortController().signal };
    const { seconds } = await timed(() => sealBooks(db, options));
    print(label, seconds);
    return seconds;
  };
  await audit('audit, nothing sealed: every row added up and priced');
  const sealed = await seal('first sealing of every hour and posting');
  const later = await audit('audit, all but the last hours sealed');
  await audit('the same of one workspace', 'ws_7');
  await seal('sealing again, nothing new');
  progress('verifying');
  const verified = await timed(() => verifySeals(db, undefined));
  print('verifying every seal against its rows', verified.seconds);
  const ofOne = await timed(() => verifySeals(db, 'ws_7'));
  print('the same of one workspace', ofOne.seconds);
  const perMillion = { unit: 's', atMost: WANTED_SECONDS_PER_MILLION };
  return [
    single('sealing a million calls for the first time', (sealed / rows) * 1_000_000, perMillion),
    single('an audit of sealed books ÷ sealing them', later / sealed, { atMost: 0.5 }),
  ];
}

async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; value: T }> {
  const startedAt = performance.now();
  const value = await work();
  return { seconds: (performance.now() - startedAt) / 1_000, value };
}

const toText = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
const print = (label: string, seconds: number): void =>
  void process.stdout.write(`  ${label.padEnd(60)} ${seconds.toFixed(1).padStart(8)} s\n`);
