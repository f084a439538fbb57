import { readFile } from 'node:fs/promises';
import type { engineSchema } from '@turnpike/internal-api/modelRouter';
import { describeLoss, type EngineEntry, engineEntriesSchema } from '@turnpike/model-router/engineEntries';
import { z } from 'zod';
import { type Command, type Context, defineCommand, type Report, reportOrWatch, WATCH } from '../cli/command.ts';
import { engineId, fileName, flag } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { toInstantCell } from '../report/cells.ts';
import { type Columns, tabulate } from '../report/entries.ts';

type Engine = z.output<typeof engineSchema>;

const toPercent = (share: number | null): string | null => (share === null ? null : `${Math.round(100 * share)} %`);

const COLUMNS: Columns<Engine> = {
  id: 'id',
  state({ state, reason, is_slow: isSlow }) {
    if (reason !== null) return `${state}: ${reason}`;
    return isSlow ? `${state}, but slow` : state;
  },
  calls: 'open_calls',
  tokens: (engine) => Math.round(engine.tokens_in_flight),
  running: 'running',
  waiting: 'waiting',
  model: 'model',
  since: (engine) => toInstantCell(engine.since),
  address: 'url',
  weight: 'weight',
  cache: (engine) => toPercent(engine.cache_usage),
  hits: (engine) => toPercent(engine.cache_hit_rate),
  window: 'window_tokens',
  version: 'version',
};

async function list({ services, table }: Context): Promise<Report> {
  const { engines, retries_left: retriesLeft, targets_not_listed: notListed } = await services.router.listEngines();
  const shown = engines.length > 0 ? tabulate(table, COLUMNS, engines) : 'There are no engines.';
  const missing = notListed.map(
    ({ id, reason, since }) => `  Target ${id} cannot be listed since ${since}: ${reason}.`,
  );
  return {
    document: { engines, retries_left: retriesLeft, targets_not_listed: notListed },
    text: [shown, ...(engines.length > 0 ? [`  retries left: ${retriesLeft}`] : []), ...missing].join('\n'),
  };
}

const CHECK_COLUMNS = [
  { title: 'target' },
  { title: 'model' },
  { title: 'engines now', isNumber: true },
  { title: '' },
];

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
      rows.length > 0 ? table(CHECK_COLUMNS, rows) : '  The file has no targets.',
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

/** Returns the other engines of the engine's model that take calls. */
function findOthers(engine: Engine, engines: Engine[]): Engine[] {
  return engines.filter(
    ({ id, model, state, is_healthy: isHealthy }) =>
      id !== engine.id && model === engine.model && isHealthy && state === 'ready',
  );
}

const toCalls = (count: number): string => (count === 1 ? '1 call' : `${count} calls`);

/** Drains an engine. Asks first, unless `isSure`, where no other engine of its model takes calls. */
async function drain(id: string, isSure: boolean, { services, confirm }: Context): Promise<Report> {
  const { engines } = await services.router.listEngines();
  const engine = engines.find((each) => each.id === id);
  const model = engine?.model ?? null;
  const left = engine ? findOthers(engine, engines).length : 0;
  if (engine && model !== null && left === 0 && !isSure) {
    const question = `This is the last engine that takes calls of ${model}: they will get 503. Type ${id} to do it: `;
    await confirm(question, id);
  }
  const answer = await services.router.drainEngine({ params: { engine_id: id } });
  const ofModel = model === null ? '' : ` ${model} has ${left} engines left that take calls.`;
  return {
    document: { ...answer, model, engines_left: left },
    text: `${id} takes nothing new, on every router within 2 s. The router that answered has ${toCalls(answer.open_calls)} there.${ofModel}`,
  };
}

async function undrain(id: string, { services }: Context): Promise<Report> {
  const answer = await services.router.undrainEngine({ params: { engine_id: id } });
  const { engines } = await services.router.listEngines();
  const isListed = engines.some((engine) => engine.id === id);
  return {
    document: answer,
    text: isListed
      ? `${id} takes calls again, on every router within 2 s.`
      : `${id} is not drained any more, but no engine of this id is listed now.`,
  };
}

export const engineCommands: Command[] = [
  defineCommand({
    words: 'engines',
    summary: 'the engines as the router that answers sees them now',
    input: z.object({ watch: WATCH }),
    run: ({ watch }, context) => reportOrWatch(list, { watch, context }),
  }),
  defineCommand({
    words: 'engines check',
    summary:
      'compare an engines file with the engines of now, and change nothing; exit code 1 if it would be refused, 3 if something wants a look',
    input: z.object({ file: fileName }),
    run: ({ file }, context) => check(file, context),
  }),
  defineCommand({
    words: 'engines drain',
    summary: 'give an engine nothing new until it is undrained, and let it finish what it has',
    input: z.object({
      engine: engineId,
      yes: flag('do not ask for a confirmation where it is the last engine of its model'),
    }),
    run: ({ engine, yes }, context) => drain(engine, yes, context),
  }),
  defineCommand({
    words: 'engines undrain',
    summary: 'let a drained engine take calls again',
    input: z.object({ engine: engineId }),
    run: ({ engine }, context) => undrain(engine, context),
  }),
];
