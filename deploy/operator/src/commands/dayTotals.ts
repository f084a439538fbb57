import { regionSchema } from '@turnpike/config/region';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { epoch, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const DAY_COLUMNS = [{ title: 'day' }, { title: 'spend USD' }, { title: 'requests' }, { title: 'reported' }];
const EPOCH_COLUMNS = [
  { title: 'region' },
  { title: 'epoch' },
  { title: 'first report' },
  { title: 'last report' },
  { title: 'confirmed' },
  { title: 'by' },
];

export const listDayTotals = defineCommand({
  words: 'totals list',
  summary: 'spend and requests of a workspace by UTC day, as its region reported them to the account layer',
  isOfAllRegions: true,
  operands: { workspaceId: 'WORKSPACE' },
  input: z.object({ workspaceId }),
  async run({ workspaceId: id }, { services, table }) {
    const days = await readPages(async (after) => {
      const page = await services.account.listDayTotals({ params: { workspace_id: id, after } });
      return { entries: page.days, nextAfter: page.next_after };
    });
    const rows = days.map((day) => [
      day.day,
      toUsdCell(day.spend_nano_usd),
      String(day.requests),
      toInstantCell(day.reported_at),
    ]);
    const document = days.map(({ spend_nano_usd: spend, ...day }) => ({ ...day, ...toAmountFields('spend', spend) }));
    return {
      document: { workspace_id: id, days: document },
      text: rows.length > 0 ? table(DAY_COLUMNS, rows) : 'No day of this workspace was reported.',
    };
  },
});

export const listEpochs = defineCommand({
  words: 'totals epochs',
  summary: 'the lives of the ledger of each region; the days of one that is not confirmed are kept aside',
  isOfAllRegions: true,
  input: z.object({}),
  async run(_input, { services, table }) {
    const { epochs } = await services.account.listRegionEpochs({ params: {} });
    const rows = epochs.map((known) => [
      known.region,
      known.epoch,
      toInstantCell(known.first_reported_at),
      toInstantCell(known.last_reported_at),
      toInstantCell(known.confirmed_at),
      known.confirmed_by ?? '-',
    ]);
    return { document: { epochs }, text: rows.length > 0 ? table(EPOCH_COLUMNS, rows) : 'No region has reported.' };
  },
});

export const confirmEpoch = defineCommand({
  words: 'totals confirm',
  summary: 'make the days of a restored ledger count, once it has read the event log again',
  isOfAllRegions: true,
  operands: { of: 'REGION', epoch: 'EPOCH' },
  input: z.object({ of: regionSchema, epoch }),
  async run({ of: region, epoch: confirmed }, { services }) {
    const document = await services.account.confirmRegionEpoch({ params: { region }, body: { epoch: confirmed } });
    return { document, text: `The days that ${region} reported in ${confirmed} count now.` };
  },
});
