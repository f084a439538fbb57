import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toInstantCell } from '../report/amounts.ts';
import type { Services } from '../stack/createServices.ts';

type Version = Awaited<ReturnType<Services['catalog']['listCatalogVersions']>>['versions'][number];

const COLUMNS = [
  { title: 'version', isNumber: true },
  { title: 'in force since' },
  { title: 'models', isNumber: true },
  { title: 'change' },
];
/** Changes of one version that the table shows. */
const SHOWN = 8;

export const listCatalogVersions = defineCommand({
  words: 'catalog versions',
  summary: 'the last 20 versions of the catalog, the newest first, and what each changed of the one before',
  options: { before: { value: 'VERSION', help: 'the 20 before this version' } },
  input: z.object({
    before: z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'must be the number of a version')
      .transform(Number)
      .optional(),
  }),
  async run({ before }, { services, table }) {
    const { versions, next_before: nextBefore } = await services.catalog.listCatalogVersions({ params: { before } });
    const rows = versions.flatMap(toRows);
    return {
      document: { versions, next_before: nextBefore },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There is no version before that one.',
    };
  },
});

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
