import { openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench } from '../bench.ts';
import { divideRounds, type Figure } from '../figure.ts';
import { median } from '../median.ts';
import { createBareTable, insertBare } from './bareInsert.ts';
import { makeBatch, type UsageBatch } from './makeBatch.ts';
import { EVENT_LOGS, measureIngest } from './measureIngest.ts';
import { createRecorder, type Phases } from './recordInPhases.ts';

const WARM_UP_ROUNDS = 1;
const ROUNDS = 3;
const BATCHES_PER_ROUND = 8;
const ROWS_PER_BATCH = 1_000;
const WANTED_RATIO = 0.5;

/**
 * Rows/s from the bytes of the event log to the commit, with totals, postings and offset, against a bare INSERT of the same
 * rows by the same client into the same Postgres. It waits for no disk, which leaves the work itself to be compared.
 */
export const bench: Bench = {
  measures: 'recording of calls by itself and over both event logs, against a bare INSERT of the same rows',
  parts: ['recording', ...EVENT_LOGS],
  async run({ parts, progress, measure }) {
    const figures: Figure[] = [];
    for (const part of ['recording', ...EVENT_LOGS] as const) {
      if (parts.length > 0 && !parts.includes(part)) continue;
      const one = async (): Promise<Figure[]> => {
        const ledger = await openTestLedger();
        try {
          await createBareTable(ledger);
          if (part === 'recording') return await measureRecording(ledger, progress);
          return [await measureIngest(ledger, part, progress)];
        } finally {
          await ledger.close();
        }
      };
      figures.push(...(await measure(part, one)));
    }
    return figures;
  },
};

async function measureRecording({ db }: TestLedger, progress: (text: string) => void): Promise<Figure[]> {
  const recorder = createRecorder(db);
  const rounds: { bare: number; ledger: number; phases: Phases }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    progress(`round ${round + 1} of ${WARM_UP_ROUNDS + ROUNDS}`);
    const batches = Array.from({ length: BATCHES_PER_ROUND }, () => makeBatch(ROWS_PER_BATCH));
    const measureBare = () => secondsFor(batches, ({ events }) => insertBare(db, events));
    const measureLedger = () => secondsFor(batches, ({ records }) => recorder.record(records));
    // Each goes first every other time, so that neither always meets the warmer machine.
    const isBareFirst = round % 2 === 0;
    const early = isBareFirst ? await measureBare() : 0;
    const ledger = await measureLedger();
    const bare = isBareFirst ? early : await measureBare();
    const phases = await recorder.takePhases();
    if (round >= WARM_UP_ROUNDS) rounds.push({ bare, ledger, phases });
  }
  const rows = BATCHES_PER_ROUND * ROWS_PER_BATCH;
  const perRow = (seconds: number[]): string => `${((median(seconds) / rows) * 1e6).toFixed(1).padStart(6)} µs a row`;
  print(`bare INSERT … unnest      ${format(rows / median(rounds.map(({ bare }) => bare)))} rows/s`);
  print(`ledger                    ${format(rows / median(rounds.map(({ ledger }) => ledger)))} rows/s`);
  print(`  reading and checking    ${perRow(rounds.map(({ phases }) => phases.reading))}`);
  print(`  partitions              ${perRow(rounds.map(({ phases }) => phases.partitions))}`);
  print(`  the transaction         ${perRow(rounds.map(({ phases }) => phases.transaction))}`);
  const ofBare = divideRounds(
    rounds.map(({ bare }) => bare),
    rounds.map(({ ledger }) => ledger),
  );
  return [
    { name: 'rows/s of the ledger, with every projection ÷ a bare INSERT', rounds: ofBare, atLeast: WANTED_RATIO },
  ];
}

/** One batch after the other, as a partition's reader works. */
async function secondsFor(batches: UsageBatch[], write: (batch: UsageBatch) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  for (const batch of batches) await write(batch);
  return (performance.now() - startedAt) / 1_000;
}

const format = (rate: number): string => Math.round(rate).toLocaleString('en').padStart(8);
const print = (line: string): void => void process.stdout.write(`  ${line}\n`);
