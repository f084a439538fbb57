import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { fileName, flag } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';

/** The European Central Bank's monthly averages of US dollars per euro. */
const SERIES = 'EXR.M.USD.EUR.SP00.A';
/** Most observations of one call: ten years. */
const MOST = 120;

export const rateCommands: Command[] = [
  defineList({
    words: 'rates list',
    summary: 'the dollars per euro of each month',
    isOfAllRegions: true,
    name: 'rates',
    ifNone: 'There are no rates.',
    read: async (_input, { services }) => (await services.account.listRates({ params: {} })).rates,
    columns: {
      month: 'month',
      'USD per EUR': 'usd_per_eur',
      'average of': 'source_period',
      series: 'series',
      imported: 'imported_at',
      by: 'imported_by',
    },
  }),
  defineCommand({
    words: 'rates import',
    summary: `add the rates of a CSV file of the European Central Bank's series ${SERIES}; a month that is there keeps its rate`,
    isOfAllRegions: true,
    input: z.object({
      file: fileName,
      confirmed: flag('take a rate that differs by more than 10 % from the month before'),
    }),
    async run({ file, confirmed }, { services }) {
      const bytes = await readFile(file).catch((error: unknown) => {
        throw new RefusedError(`${file} cannot be read.`, { cause: error });
      });
      const document = await services.account.importRates({
        body: {
          series: SERIES,
          sha256: createHash('sha256').update(bytes).digest('hex'),
          observations: readObservations(bytes.toString(), file).slice(-MOST),
          is_confirmed: confirmed,
        },
      });
      const differing = document.kept.map(
        ({ month, value, known_value: known }) => `\n  ${month} keeps the rate of ${known}: the file has ${value}.`,
      );
      return { document, text: `${document.added} rates were added.${differing.join('')}` };
    },
  }),
];

/** Reads the observations of the file, the oldest first. Throws a `RefusedError` for a file of another form or series. */
function readObservations(text: string, file: string): { period: string; value: string }[] {
  const refuse = (what: string) => new RefusedError(`${file} is no file of the series ${SERIES}: ${what}.`);
  const [header = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '');
  const titles = header.split(',');
  const [keyAt, periodAt, valueAt] = ['KEY', 'TIME_PERIOD', 'OBS_VALUE'].map((title) => titles.indexOf(title));
  if (keyAt === undefined || periodAt === undefined || valueAt === undefined || Math.min(keyAt, periodAt, valueAt) < 0)
    throw refuse('its first line does not name KEY, TIME_PERIOD and OBS_VALUE');
  const observations = lines.map((line) => {
    // Columns with quotes and commas come after these.
    const cells = line.split(',');
    const [key, period = '', value = ''] = [cells[keyAt], cells[periodAt], cells[valueAt]];
    if (key !== SERIES) throw refuse(`a line has the key ${key}`);
    if (!/^\d{4}-\d\d$/.test(period) || !/^\d\.\d+$/.test(value)) throw refuse(`a line has ${period} and ${value}`);
    return { period, value };
  });
  if (observations.length === 0) throw refuse('it has no observations');
  return observations.toSorted((a, b) => (a.period < b.period ? -1 : 1));
}
