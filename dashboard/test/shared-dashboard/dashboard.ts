import { afterAll, afterEach, beforeAll, beforeEach, expect, jest } from '@jest/globals';
import { CREDIT, type RegionalDashboard, startRegionalDashboard } from '../startRegion.ts';

jest.setTimeout(600_000);

/**
 * One dashboard for the tests of several pages, because its start takes longer than most of them. Each test has its own users, with
 * addresses of its page's domain.
 */
export let dashboard: RegionalDashboard;

beforeAll(async () => {
  dashboard = await startRegionalDashboard();
});
afterAll(() => dashboard?.stop());

beforeEach(() => {
  dashboard.setCredit(CREDIT);
  dashboard.catalog.show([], {});
});
/** Expects that no page drew an error, and that none broke the content security policy. */
afterEach(async () => {
  await dashboard?.closePages();
  expect(dashboard?.complaints.splice(0)).toEqual([]);
});
