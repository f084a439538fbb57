import { it } from '@jest/globals';
import { walkPlayground } from '../chats.ts';
import { Eyes } from '../eyes.ts';
import { inBrowser } from '../inBrowser.ts';
import { walkBilling, walkKey } from '../walks.ts';
import { dashboard } from './dashboard.ts';

// The longest looks. `pages.test.ts` has those of the other pages.
inBrowser('a page of the dashboard in Chromium', () => {
  const eyes = new Eyes();

  it('is without fault for payments', async () => {
    await walkBilling(dashboard, await dashboard.prepareWorkspace('fay@looks.example'), eyes);
  });

  it('is without fault for the playground', async () => {
    await walkPlayground(dashboard, await dashboard.prepareWorkspace('eve@looks.example'), eyes);
  });

  it('is without fault for one key and for limits', async () => {
    await walkKey(dashboard, await dashboard.prepareWorkspace('dora@looks.example'), eyes);
  });
});
