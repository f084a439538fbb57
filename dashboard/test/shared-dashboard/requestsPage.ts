import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { aMediaUsageRecorded, aUsageRecorded } from '../../../libs/events/src/aUsageRecorded.ts';
import type { UsageRecorded } from '../../../libs/events/src/usageRecorded.ts';
import { aPartition } from '../../../services/usage-ledger/test/openTestLedger.ts';
import { inBrowser } from '../inBrowser.ts';
import { aPricedCall } from '../walks.ts';
import { dashboard } from './dashboard.ts';

inBrowser('one request of a workspace in Chromium', () => {
  const recordCalls = (...calls: UsageRecorded[]) => aPartition(dashboard.ledger.db).deliver(calls);
  const find = async (page: Page, id: string) => {
    await page.getByLabel('Id of the request').fill(id);
    await page.getByRole('button', { name: 'Show the request' }).click();
  };
  const readCost = (page: Page): Promise<string[]> =>
    page.evaluate(
      '[...document.querySelectorAll("section[aria-label=Cost] tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent).join(" | "))',
    );

  it('shows the arithmetic of a cost, by the id of an answer and by the call id', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('ann@requests.example');
    const call = aPricedCall(workspaceId);
    await recordCalls(call);
    await page.goto(`${path}/requests`);
    for (const id of [`chatcmpl-${call.callId}`, ` ${call.callId.toUpperCase()} `]) {
      await find(page, id);
      await page.getByRole('cell', { name: '$0.000122', exact: true }).waitFor();
      expect(await readCost(page)).toEqual([
        'Prompt tokens, not cached | 100 | $0.0000004 each | $0.00004',
        'Prompt tokens, cached | 20 | $0.0000001 each | $0.000002',
        'Completion tokens | 80 | $0.0000010000000005 each | $0.00008000000004',
        'Rounding to whole nano-dollars |  |  | -$0.00000000000004',
        'Charge | $0.000122',
      ]);
    }
    await page.getByText('Prices are those of version 1').waitFor();
    await page.reload();
    await page.getByRole('cell', { name: '$0.000122', exact: true }).waitFor();
  });

  it('says what to do with a bad id, an unknown one, and a call of another workspace', async () => {
    const { page, path } = await dashboard.prepareWorkspace('ben@requests.example');
    const other = aPricedCall('ws_other');
    await recordCalls(other);
    await page.goto(`${path}/requests`);
    await find(page, 'chatcmpl-1');
    await page.getByText('This contains no call id').waitFor();
    for (const id of [aUsageRecorded().callId, other.callId]) {
      await find(page, id);
      await page.getByText('There is no such call in this workspace').waitFor();
    }
  });

  it('shows the charge of a call whose prices are not known', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('cleo@requests.example');
    const call = aMediaUsageRecorded({ workspaceId });
    await recordCalls(call);
    await page.goto(`${path}/requests?id=${call.callId}`);
    await page.getByText('cannot be read at the moment').waitFor();
    await page.getByRole('cell', { name: '$0.000125', exact: true }).waitFor();
  });
});
