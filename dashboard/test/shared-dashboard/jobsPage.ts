import { beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { sql } from '../../../libs/postgres/src/sql.ts';
import { registerAKey } from '../../../services/auth/test/builders.ts';
import { anImageModel } from '../../../services/media-jobs/test/aMediaModel.ts';
import { inBrowser } from '../inBrowser.ts';
import { goTo, press } from '../startDashboard.ts';
import { endJobs, insertJobs } from '../walks.ts';
import { dashboard } from './dashboard.ts';

inBrowser('the jobs of a workspace in Chromium', () => {
  beforeEach(() => dashboard.catalog.show([anImageModel()], { 'small-image': { engines: 1, healthy: 1 } }));

  const readRows = (page: Page): Promise<string[][]> =>
    page.evaluate(
      '[...document.querySelectorAll("section[aria-label=Jobs] tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent))',
    );

  it('shows the call of a first image to a workspace without jobs', async () => {
    const { page } = await dashboard.openWorkspace('ann@jobs.example');
    await goTo(page, 'Jobs');
    await page.getByText('This workspace has no media job yet').waitFor();
    await page.getByText(`${dashboard.auth.publicUrl}/v1/images/generations`).waitFor();
    await page.getByText('"model":"small-image"').waitFor();
    await page.getByText('"async":true').waitFor();
    // A page with a route has no cache.
    await page.route('**/console/models', (route) => route.continue());
    dashboard.catalog.show([], {});
    await page.reload();
    await page.getByText('has no ready model of images').waitFor();
  });

  it('shows status, times, amount, cost and error of jobs, and follows those that run', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('ben@jobs.example');
    const { keyId } = await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Studio' });
    for (const model of ['done', 'broken', 'waits']) await insertJobs(dashboard, workspaceId, keyId, 1, model);
    await endJobs(dashboard, workspaceId, 'done', 'completed');
    await endJobs(dashboard, workspaceId, 'broken', 'failed', 'generation_failed');
    await page.goto(`${path}/jobs`);
    await page.getByText('generation_failed').waitFor();
    await page.getByRole('cell', { name: 'Studio' }).first().waitFor();
    const rows = await readRows(page);
    const rowOf = (model: string) => rows.find(([name]) => name?.startsWith(model))?.slice(1, -1);
    const [, key] = rowOf('done') ?? [];
    expect(key).toMatch(/^Studio \(sk-\.\.\.\w{4}\)$/);
    const created = '1 Nov 2026, 00:00';
    expect(rowOf('done')).toEqual(['Completed', key, created, '2.5 s', '2 images', '$0.000001']);
    expect(rowOf('broken')).toEqual(['Failedgeneration_failed', key, created, '2.5 s', '0 images', '$0.00']);
    expect(rowOf('waits')).toEqual(['Queued', key, created, 'Not yet', 'Not yet', 'Not yet']);
    expect(await page.content()).not.toContain('the prompt');

    await dashboard.jobs.db.execute(sql`
      UPDATE job SET state = 'running', begun_at = now(), progress = 40 WHERE workspace_id = ${workspaceId} AND model = 'waits'`);
    await page.getByText('In progress, 40 %').waitFor();
    await endJobs(dashboard, workspaceId, 'waits', 'completed');
    await page.getByText('In progress, 40 %').waitFor({ state: 'detached' });

    await page.getByLabel('Status').selectOption('Failed');
    await page.getByRole('row', { name: /^done/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^broken/ }).waitFor();
    expect((await readRows(page)).map(([model]) => model)).toEqual(['brokenimages.generations']);
    await page.getByLabel('Status').selectOption('Cancelled');
    await page.getByText('No job has this status').waitFor();
    await page.getByLabel('Status').selectOption('Completed');
    await page
      .getByRole('link', { name: /the cost of job_/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get('id')).toMatch(/^"?[\da-f-]{36}"?$/);
  });

  it('shows 120 jobs by pages, by keyboard alone', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('cleo@jobs.example');
    await insertJobs(dashboard, workspaceId, 'key_1', 120);
    await endJobs(dashboard, workspaceId, 'small-image', 'completed');
    await page.goto(`${path}/jobs`);
    for (const rows of [50, 100, 120]) {
      await page.getByRole('row').nth(rows).waitFor();
      expect(await page.getByRole('row').count()).toBe(rows + 1);
      if (rows === 120) break;
      await page.getByRole('row').nth(rows).getByRole('link').focus();
      await press(page, 'Show older jobs');
    }
    await page.getByRole('button', { name: 'Show older jobs' }).waitFor({ state: 'detached' });
  });

  it('shows jobs to a billing viewer, with the ids of keys in place of their names', async () => {
    const { path, organizationId, workspaceId } = await dashboard.prepareWorkspace('dora@jobs.example');
    await insertJobs(dashboard, workspaceId, 'key_of_dora', 1);
    const { page: viewer } = await dashboard.openSession('jon@jobs.example');
    const { userId } = await dashboard.account.db.email.findUniqueOrThrow({ where: { address: 'jon@jobs.example' } });
    await dashboard.account.db.member.create({ data: { organizationId, userId, role: 'billing_viewer' } });
    await viewer.goto(`${path}/jobs`);
    await viewer.getByRole('cell', { name: 'key_of_dora' }).waitFor();
  });

  it('keeps jobs on the page while their region does not answer, and says so', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('eve@jobs.example');
    await insertJobs(dashboard, workspaceId, 'key_1', 1);
    await page.goto(`${path}/jobs`);
    await page.getByRole('cell', { name: 'Queued' }).waitFor();
    await page.route('**/console/**', (route) => route.abort());
    await page.getByText('The page shows what was loaded before').waitFor();
    await page.getByRole('cell', { name: 'Queued' }).waitFor();
  });
});
