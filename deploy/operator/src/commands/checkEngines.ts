import { readFile } from 'node:fs/promises';
import { describeLoss, type EngineEntry, engineEntriesSchema } from '@turnpike/model-router/engineEntries';
import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { fileName } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';

const COLUMNS = [{ title: 'target' }, { title: 'model' }, { title: 'engines now', isNumber: true }, { title: '' }];

async function check(file: string, { services, table }: Context): Promise<Report> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new RefusedError(`${file} cannot be read (${error.code}).`, { cause: error });
  });
  const read = await parse(file, text);
  if ('mistakes' in read)
    return { document: { file, mistakes: read.mistakes }, text: `${read.mistakes}.`, isFailure: true };
  const { entries, isForced } = read;
  const [{ engines, targets_not_listed: notListed }, catalog] = await Promise.all([
    services.router.listEngines(),
    services.catalog.getCatalog(),
  ]);
  const now = [...new Set([...engines.map(({ target }) => target), ...notListed.map(({ id }) => id)])];
  const loss = isForced ? undefined : describeLoss(entries.length, now.length);
  const sold = catalog.models.filter(({ state }) => state === 'live').map(({ id }) => id);
  const kept = new Set(entries.map(({ id }) => id));
  const left = engines.filter(({ target }) => kept.has(target));
  const warnings = [
    ...sold
      .filter((id) => engines.some(({ model }) => model === id))
      .filter((id) => !entries.some(({ model }) => model === id) && !left.some(({ model }) => model === id))
      .map((id) => `${id} loses its last engine`),
    ...entries
      .filter(({ model }) => model !== undefined && !catalog.models.some(({ id }) => id === model))
      .map(({ id, model }) => `target ${id} is of ${model}, which is not in the catalog`),
  ];
  const countOf = (target: string): string => String(engines.filter((engine) => engine.target === target).length);
  const modelOf = (target: string): string => engines.find((engine) => engine.target === target)?.model ?? '-';
  const rows = [
    ...entries.map(({ id, model }) => [id, model ?? modelOf(id), countOf(id), now.includes(id) ? '' : 'new']),
    ...now.filter((id) => !kept.has(id)).map((id) => [id, modelOf(id), countOf(id), 'goes']),
  ];
  return {
    document: {
      file,
      mistakes: loss === undefined ? [] : [loss],
      targets: entries.map(({ id }) => id),
      added: entries.filter(({ id }) => !now.includes(id)).map(({ id }) => id),
      removed: now.filter((id) => !kept.has(id)),
      warnings,
    },
    text: [
      rows.length > 0 ? table(COLUMNS, rows) : '  The file has no targets.',
      ...(loss === undefined ? [] : ['', `  Routers would refuse this file, because it ${loss}.`]),
      ...(warnings.length > 0 ? ['', '  Wants a look:', ...warnings.map((warning) => `    ${warning}.`)] : []),
    ].join('\n'),
    isFailure: loss !== undefined,
    wantsLook: warnings.length > 0,
  };
}

/** Reads the entries as a router does. */
async function parse(
  file: string,
  text: string,
): Promise<{ entries: readonly EngineEntry[]; isForced: boolean } | { mistakes: string }> {
  // No other command waits for a parser of YAML.
  const { parseEntriesFile } = await import('@turnpike/lifecycle/followEntriesFile');
  try {
    return parseEntriesFile(text, { file, setting: 'ENGINES_FILE', schema: engineEntriesSchema });
  } catch (error) {
    return { mistakes: error instanceof Error ? error.message : String(error) };
  }
}

export const checkEngines = defineCommand({
  words: 'engines check',
  summary:
    'compare an engines file with the engines of now, and change nothing; exit code 1 if it would be refused, 3 if something wants a look',
  operands: { file: 'FILE' },
  input: z.object({ file: fileName }),
  run: ({ file }, context) => check(file, context),
});
