import { openTestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { createBareTable } from './bareInsert.ts';
import { measureIngest, SOURCES } from './measureIngest.ts';

/**
 * Measures rows/s from the bytes of the event log to the commit, with totals, postings and offset. The lower bound is a bare INSERT of the
 * same rows by the same client into the same Postgres. Postgres waits for no disk, so that only the work is compared.
 */
export const bench: Bench = {
  measures: 'recording of calls by itself and over both event logs, against a bare INSERT of the same rows',
  parts: SOURCES,
  async run({ parts, progress, measure }) {
    const figures: Figure[] = [];
    for (const source of SOURCES) {
      if (parts.length > 0 && !parts.includes(source)) continue;
      const one = async (): Promise<Figure[]> => {
        const ledger = await openTestLedger();
        try {
          await createBareTable(ledger);
          return [await measureIngest(ledger, source, progress)];
        } finally {
          await ledger.close();
        }
      };
      figures.push(...(await measure(source, one)));
    }
    return figures;
  },
};
