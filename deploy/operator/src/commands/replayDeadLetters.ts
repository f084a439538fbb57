import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { deadLetterId } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import type { Services } from '../stack/createServices.ts';
import { readDeadLetters } from '../stack/readPages.ts';

type Outcome = Awaited<ReturnType<Services['ledger']['replayDeadLetter']>>;

/** Letters in flight, fewer than the ledger has connections for them. */
const AT_ONCE = 4;

const COLUMNS = [{ title: 'id', isNumber: true }, { title: 'replayed' }, { title: 'reason' }];

export const replayDeadLetters = defineCommand({
  words: 'dead-letters replay',
  summary: 'read dead letters again and record what can be read now, each call once',
  operands: { id: 'ID' },
  options: {
    all: { help: 'every one that waits, instead of ID' },
    repaired: { value: 'FILE', help: 'the event as it should have been, to be read in place of the bytes of ID' },
  },
  input: z
    .object({
      id: deadLetterId.optional(),
      all: z.boolean().default(false),
      repaired: z.string().min(1).optional(),
    })
    .refine(({ id, all }) => (id === undefined) === all, 'give an ID or --all')
    .refine(({ id, repaired }) => repaired === undefined || id !== undefined, '--repaired goes with an ID'),
  async run({ id, repaired }, { services, table }) {
    const value = repaired === undefined ? undefined : await readValue(repaired);
    const ids =
      id === undefined ? (await readDeadLetters(services, { isAll: false })).map((letter) => letter.id) : [id];
    const outcomes: Outcome[] = [];
    for (let at = 0; at < ids.length; at += AT_ONCE)
      outcomes.push(...(await Promise.all(ids.slice(at, at + AT_ONCE).map((each) => replay(services, each, value)))));
    const left = outcomes.filter((outcome) => !outcome.is_replayed);
    const rows = left.map((outcome) => [outcome.id, 'no', outcome.reason ?? '-']);
    const summary = `${outcomes.length - left.length} of ${outcomes.length} were replayed.`;
    return {
      document: { replayed: outcomes.length - left.length, left },
      text: rows.length > 0 ? `${table(COLUMNS, rows)}\n\n  ${summary}` : summary,
      isFailure: left.length > 0,
    };
  },
});

function replay({ ledger }: Services, id: string, value: Buffer | undefined): Promise<Outcome> {
  const body = value === undefined ? {} : { repaired_base64: value.toString('base64') };
  return ledger.replayDeadLetter({ params: { dead_letter_id: id }, body });
}

async function readValue(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw new RefusedError(`${file} cannot be read.`, { cause: error });
  });
}
