import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { deadLetterId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';
import { formatTable } from '../report/formatTable.ts';

export const showDeadLetter = defineCommand({
  words: 'dead-letters show',
  summary: 'a record that could not be read, with its bytes; --json has them as base64',
  operands: { id: 'ID' },
  input: z.object({ id: deadLetterId }),
  async run({ id }, { services }) {
    const letter = await services.ledger.getDeadLetter({ params: { dead_letter_id: id } });
    const rows = [
      ['id', letter.id],
      ['reason', letter.reason],
      ['topic', letter.topic],
      ['partition', String(letter.partition)],
      ['offset', letter.offset],
      ['came', toInstantCell(letter.recorded_at)],
      ['replayed', toInstantCell(letter.replayed_at)],
      ['dismissed', [toInstantCell(letter.dismissed_at), letter.dismissal_note ?? ''].join(' ')],
      ['bytes', String(letter.bytes)],
      ['content', Buffer.from(letter.payload_base64, 'base64').toString()],
    ];
    return { document: letter, text: formatTable(rows) };
  },
});
