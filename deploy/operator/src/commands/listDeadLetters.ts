import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toInstantCell } from '../report/amounts.ts';
import { readDeadLetters } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id', isNumber: true },
  { title: 'came' },
  { title: 'topic' },
  { title: 'partition', isNumber: true },
  { title: 'offset', isNumber: true },
  { title: 'bytes', isNumber: true },
  { title: 'replayed' },
  { title: 'dismissed' },
  { title: 'reason' },
];

export const listDeadLetters = defineCommand({
  words: 'dead-letters list',
  summary: 'records of the event log that the ledger could not read, and why',
  options: { all: { help: 'those that were replayed or dismissed, too' } },
  input: z.object({ all: z.boolean().default(false) }),
  async run({ all: isAll }, { services, table }) {
    const letters = await readDeadLetters(services, { isAll });
    const rows = letters.map((letter) => [
      letter.id,
      toInstantCell(letter.recorded_at),
      letter.topic,
      String(letter.partition),
      letter.offset,
      String(letter.bytes),
      toInstantCell(letter.replayed_at),
      letter.dismissal_note ?? '-',
      letter.reason,
    ]);
    return {
      document: { dead_letters: letters },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'No dead letters wait.',
    };
  },
});
