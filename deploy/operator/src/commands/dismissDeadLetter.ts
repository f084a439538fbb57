import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { deadLetterId } from '../cli/fields.ts';

export const dismissDeadLetter = defineCommand({
  words: 'dead-letters dismiss',
  summary: 'give up a record that cannot be repaired: it waits no more, raises no alert, and can still be replayed',
  operands: { id: 'ID' },
  options: { note: { value: 'NOTE', help: 'reason for giving it up' } },
  input: z.object({ id: deadLetterId, note: z.string().min(1).max(500, 'must be at most 500 characters') }),
  async run({ id, note }, { services }) {
    const document = await services.ledger.dismissDeadLetter({ params: { dead_letter_id: id }, body: { note } });
    return {
      document,
      text: `${id} is given up. Its call has no row: "turnpike dead-letters list --all" still shows it.`,
    };
  },
});
