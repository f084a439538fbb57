import { readFile } from 'node:fs/promises';
import type { DeadLetter } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { deadLetterId, fileName, flag, operand, option, textOf } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { toInstantCell } from '../report/cells.ts';
import { tabulate, toFacts } from '../report/entries.ts';
import { formatTable } from '../report/formatTable.ts';
import type { Services } from '../stack/createServices.ts';
import { readPages } from '../stack/readPages.ts';

type Outcome = Awaited<ReturnType<Services['ledger']['replayDeadLetter']>>;

/** Letters in flight, fewer than the ledger has connections for them. */
const AT_ONCE = 4;

/** Reads those that wait to be replayed, or with `isAll` every one there ever was. */
const readAll = ({ ledger }: Services, { isAll }: { isAll: boolean }): Promise<DeadLetter[]> =>
  readPages('dead_letters', (after) =>
    ledger.listDeadLetters({
      params: { after: after || undefined, replayed: isAll ? ('include' as const) : undefined },
    }),
  );

export const listDeadLetters = defineList({
  words: 'dead-letters list',
  summary: 'records of the event log that the ledger could not read, and why',
  input: z.object({ all: flag('those that were replayed or dismissed, too') }),
  name: 'dead_letters',
  ifNone: 'No dead letters wait.',
  read: ({ all: isAll }, { services }) => readAll(services, { isAll }),
  columns: {
    id: 'id',
    came: 'recorded_at',
    topic: 'topic',
    partition: 'partition',
    offset: 'offset',
    bytes: 'bytes',
    replayed: 'replayed_at',
    dismissed: 'dismissal_note',
    reason: 'reason',
  },
});

export const deadLetterCommands: Command[] = [
  listDeadLetters,
  defineCommand({
    words: 'dead-letters show',
    summary: 'a record that could not be read, with its bytes; --json has them as base64',
    input: z.object({ id: deadLetterId }),
    async run({ id }, { services }) {
      const letter = await services.ledger.getDeadLetter({ params: { dead_letter_id: id } });
      const facts = toFacts(
        {
          id: 'id',
          reason: 'reason',
          topic: 'topic',
          partition: 'partition',
          offset: 'offset',
          came: 'recorded_at',
          replayed: 'replayed_at',
          dismissed: ({ dismissed_at: at, dismissal_note: note }) => [toInstantCell(at), note ?? ''].join(' '),
          bytes: 'bytes',
          content: ({ payload_base64: payload }) => Buffer.from(payload, 'base64').toString(),
        },
        letter,
      );
      return { document: letter, text: formatTable(facts) };
    },
  }),
  defineCommand({
    words: 'dead-letters replay',
    summary: 'read dead letters again and record what can be read now, each call once',
    input: z
      .object({
        id: operand('ID', deadLetterId.optional()),
        all: flag('every one that waits, instead of ID'),
        repaired: option(
          'FILE',
          'the event as it should have been, to be read in place of the bytes of ID',
          fileName.optional(),
        ),
      })
      .refine(({ id, all }) => (id === undefined) === all, 'give an ID or --all')
      .refine(({ id, repaired }) => repaired === undefined || id !== undefined, '--repaired goes with an ID'),
    async run({ id, repaired }, { services, table }) {
      const value = repaired === undefined ? undefined : await readValue(repaired);
      const ids = id === undefined ? (await readAll(services, { isAll: false })).map((letter) => letter.id) : [id];
      const outcomes: Outcome[] = [];
      for (let at = 0; at < ids.length; at += AT_ONCE)
        outcomes.push(...(await Promise.all(ids.slice(at, at + AT_ONCE).map((each) => replay(services, each, value)))));
      const left = outcomes.filter((outcome) => !outcome.is_replayed);
      const summary = `${outcomes.length - left.length} of ${outcomes.length} were replayed.`;
      const columns = { id: 'id', replayed: 'is_replayed', reason: 'reason' } as const;
      return {
        document: { replayed: outcomes.length - left.length, left },
        text: left.length > 0 ? `${tabulate(table, columns, left)}\n\n  ${summary}` : summary,
        isFailure: left.length > 0,
      };
    },
  }),
  defineCommand({
    words: 'dead-letters dismiss',
    summary: 'give up a record that cannot be repaired: it waits no more, raises no alert, and can still be replayed',
    input: z.object({
      id: deadLetterId,
      note: option('NOTE', 'reason for giving it up', textOf(500)),
    }),
    async run({ id, note }, { services }) {
      const document = await services.ledger.dismissDeadLetter({ params: { dead_letter_id: id }, body: { note } });
      const text = `${id} is given up. Its call has no row: "turnpike dead-letters list --all" still shows it.`;
      return { document, text };
    },
  }),
];

function replay({ ledger }: Services, id: string, value: Buffer | undefined): Promise<Outcome> {
  const body = value === undefined ? {} : { repaired_base64: value.toString('base64') };
  return ledger.replayDeadLetter({ params: { dead_letter_id: id }, body });
}

async function readValue(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw new RefusedError(`${file} cannot be read.`, { cause: error });
  });
}
