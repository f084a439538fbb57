import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Eyes } from './eyes.ts';
import { inBrowser } from './inBrowser.ts';
import { CREDIT, type OpenWorkspace, type RegionalDashboard, startRegionalDashboard } from './startRegion.ts';
import { walkAccount, walkAlerts, walkJobs, walkKeys, walkModels, walkRequests, walkUsage } from './walks.ts';

// The looks of pages. The deep files have what pages do, and the looks of payments, the playground, one key and limits.
inBrowser('a page of the dashboard in Chromium', () => {
  const eyes = new Eyes();
  let dashboard: RegionalDashboard;
  let opened: OpenWorkspace;
  beforeAll(async () => {
    dashboard = await startRegionalDashboard();
    dashboard.setCredit(CREDIT);
  });
  afterAll(() => dashboard?.stop());

  it('is without fault from the sign-in to an organization', () => walkAccount(dashboard, eyes));

  it('is without fault for the usage of a workspace', async () => {
    opened = await dashboard.prepareWorkspace('ann@example.com');
    await walkUsage(dashboard, opened, eyes);
  });

  it('is without fault for a request', () => walkRequests(dashboard, opened, eyes));

  it('is without fault for the models of a region', () => walkModels(dashboard, eyes));

  it('is without fault for media jobs', async () => {
    await walkJobs(dashboard, await dashboard.prepareWorkspace('cleo@example.com'), eyes);
  });

  it('is without fault for alerts', async () => {
    await walkAlerts(dashboard, await dashboard.prepareWorkspace('gus@example.com'), eyes);
  });

  it('is without fault for keys', async () => {
    await walkKeys(dashboard, await dashboard.prepareWorkspace('ben@example.com'), eyes);
  });

  it('draws no error and no report of the content security policy', () => {
    expect(dashboard.complaints).toEqual([]);
  });
});
