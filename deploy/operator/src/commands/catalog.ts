import { type CatalogChange, compareCatalogs, isLargeChange } from '@turnpike/catalog/compareCatalogs';
import { regionSchema } from '@turnpike/config/region';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { z } from 'zod';
import { type Command, type Context, defineCommand, type Report } from '../cli/command.ts';
import { fileName, option } from '../cli/fields.ts';
import { toInstantCell } from '../report/cells.ts';
import type { Services } from '../stack/createServices.ts';

const COLUMNS = [
  { title: 'model' },
  { title: 'field' },
  { title: 'in force' },
  { title: 'in the file' },
  { title: 'factor', isNumber: true },
];

/** The switch of an operator is kept whatever the file says. */
const isOfSwitch = ({ field, from, to }: CatalogChange): boolean =>
  field === 'state' && from === 'disabled' && to === 'live';

async function check(file: string, { services, region, table }: Context): Promise<Report> {
  // No other command waits for a parser of YAML.
  const { CatalogFileError, readCatalogFile } = await import('@turnpike/catalog/readCatalogFile');
  const read = await readCatalogFile(file, regionSchema.parse(region)).catch((error: unknown) => {
    if (error instanceof CatalogFileError) return error;
    throw error;
  });
  if (read instanceof CatalogFileError)
    return {
      document: { file, mistakes: read.mistakes },
      text: [...read.mistakes, `${read.mistakes.length} mistakes: the region would refuse this file.`].join('\n'),
      isFailure: true,
    };
  const [catalog, { engines }, media] = await Promise.all([
    services.catalog.getCatalog(),
    services.router.listEngines(),
    services.media.getLiveModels(),
  ]);
  const changes = compareCatalogs(catalog.models, read).filter((change) => !isOfSwitch(change));
  const served = new Set([...engines.map(({ model }) => model ?? ''), ...Object.keys(media.models)]);
  const warnings = [...findLargeChanges(changes), ...findUnserved(read, served), ...findUnsold(read, served)];
  const rows = changes.map(({ model, kind, field = kind, from = '-', to = '-', factor }) => {
    return [model, field, from, to, factor === undefined ? '-' : toFactorCell(factor)];
  });
  return {
    document: { file, version_in_force: catalog.version, mistakes: [], changes: changes.map(toChangeBody), warnings },
    text: [
      ...(rows.length > 0 ? [table(COLUMNS, rows), ''] : []),
      `  ${changes.length} differences to version ${catalog.version}, which is in force.`,
      ...(warnings.length > 0 ? ['', '  Wants a look:', ...warnings.map((warning) => `    ${warning}.`)] : []),
    ].join('\n'),
    wantsLook: warnings.length > 0,
  };
}

const toFactorCell = (factor: number): string => (Number.isFinite(factor) ? factor.toPrecision(3) : 'was free');

/** JSON has no infinity. */
const toChangeBody = ({ factor, ...change }: CatalogChange) => ({
  ...change,
  ...(factor !== undefined && { factor: Number.isFinite(factor) ? factor : null }),
});

const findLargeChanges = (changes: CatalogChange[]): string[] =>
  changes
    .filter(isLargeChange)
    .map(
      ({ model, field, from, to }) => `${model}: ${field} changes from ${from} to ${to}, by more than a factor of 10`,
    );

const findUnserved = (models: CatalogModel[], served: ReadonlySet<string>): string[] =>
  models
    .filter(({ id, state }) => state === 'live' && !served.has(id))
    .map(({ id }) => `${id} is sold, and no engine or backend is known for it`);

const findUnsold = (models: CatalogModel[], served: ReadonlySet<string>): string[] => {
  const sold = new Set(models.map(({ id }) => id));
  return [...served].filter((id) => id !== '' && !sold.has(id)).map((id) => `${id} has engines and is not in the file`);
};

type Version = Awaited<ReturnType<Services['catalog']['listCatalogVersions']>>['versions'][number];

const VERSION_COLUMNS = [
  { title: 'version', isNumber: true },
  { title: 'in force since' },
  { title: 'models', isNumber: true },
  { title: 'change' },
];
/** Changes of one version that the table shows. */
const SHOWN = 8;

export const catalogCommands: Command[] = [
  defineCommand({
    words: 'catalog check',
    summary:
      'compare a catalog file with the version in force, and change nothing; exit code 1 if it would be refused, 3 if something wants a look',
    input: z.object({ file: fileName }),
    run: ({ file }, context) => check(file, context),
  }),
  defineCommand({
    words: 'catalog versions',
    summary: 'the last 20 versions of the catalog, the newest first, and what each changed of the one before',
    input: z.object({
      before: option(
        'VERSION',
        'the 20 before this version',
        z
          .string()
          .regex(/^[1-9]\d{0,8}$/, 'must be the number of a version')
          .transform(Number)
          .optional(),
      ),
    }),
    async run({ before }, { services, table }) {
      const { versions, next_before: nextBefore } = await services.catalog.listCatalogVersions({ params: { before } });
      const rows = versions.flatMap(toRows);
      return {
        document: { versions, next_before: nextBefore },
        text: rows.length > 0 ? table(VERSION_COLUMNS, rows) : 'There is no version before that one.',
      };
    },
  }),
];

function toRows({ version, applied_at: appliedAt, models, changes, change_count: count }: Version): string[][] {
  const shown = changes.slice(0, SHOWN).map(toCell);
  if (count > SHOWN) shown.push(`and ${count - SHOWN} more: --json`);
  const [first = '-', ...others] = shown;
  return [
    [String(version), toInstantCell(appliedAt), String(models), first],
    ...others.map((cell) => ['', '', '', cell]),
  ];
}

const toCell = ({ model, kind, field, from, to }: Version['changes'][number]): string =>
  field === undefined ? `${model} ${kind}` : `${model} ${field}: ${from} → ${to}`;
