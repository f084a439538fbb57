import { beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { registerAKey } from '../../../services/auth/test/builders.ts';
import { inBrowser } from '../inBrowser.ts';
import { press } from '../startDashboard.ts';
import { LIVE, MODELS } from '../walks.ts';
import { dashboard } from './dashboard.ts';

inBrowser('the models of a region in Chromium', () => {
  beforeEach(() => dashboard.catalog.show(MODELS, LIVE));

  /** Opens the page as someone who never signed in. */
  async function openModels(path = '/models'): Promise<Page> {
    const page = await (await dashboard.openContext()).newPage();
    await page.goto(path);
    return page;
  }
  const readRow = (page: Page, name: string): Promise<string[]> =>
    page
      .getByRole('row', { name: new RegExp(`^${name} `) })
      .getByRole('cell')
      .allTextContents();
  const cost = (page: Page) =>
    page.getByRole('region', { name: 'Cost calculator' }).getByRole('definition').allTextContents();

  it('shows models with exact prices to everyone, and finds them by name, alias and kind', async () => {
    const page = await openModels();
    await page.getByRole('cell', { name: 'Large Chat large-chat' }).waitFor();
    expect((await readRow(page, 'Large Chat')).slice(1, -1)).toEqual([
      'Ready',
      '$0.0155',
      '$0.0025',
      '$2.15',
      '32,768',
      '16,384',
      'reads images, tools, schemas, reasoning',
      'fp8',
    ]);
    expect((await readRow(page, 'Small Image')).slice(1, 3)).toEqual(['Ready', '$0.0028 for one image']);
    expect((await readRow(page, 'Small Video'))[5]).toBe('videos, 832x480, 3 or 5\u00a0s');
    await page
      .getByRole('row', { name: /away-chat/ })
      .getByText('Not ready')
      .waitFor();
    await page.getByLabel('Find by name').fill('GRAND');
    await page
      .getByRole('row', { name: /^Small/ })
      .first()
      .waitFor({ state: 'detached' });
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByLabel('Kind').selectOption('Speech');
    await page.getByText('No model is like that').waitFor();
    await page.getByLabel('Find by name').fill('');
    await page.getByRole('row', { name: /^Small Voice/ }).waitFor();
  });

  it('computes costs by whole nano-dollars, for tokens and for units of media', async () => {
    const page = await openModels();
    await page.getByRole('button', { name: 'Cost of Large Chat' }).click();
    expect(await page.evaluate('document.activeElement.value')).toBe('large-chat');
    await page.getByLabel('Input tokens a call').fill('1001');
    await page.getByLabel('Of them cached').fill('50');
    await page.getByLabel('Output tokens a call').fill('3');
    await page.getByLabel('Calls a day').fill('1000000');
    // 501 × 15.5 + 500 × 2.5 + 3 × 2,150 = 15,465.5 nano-dollars, rounded half-up before it is multiplied.
    expect(await cost(page)).toEqual(['$0.000015466', '$15.466', '$463.98']);
    await page.getByLabel('Of them cached').fill('101');
    await page.getByText('This must be at most 100.').waitFor();
    expect(await cost(page)).toEqual(['–', '–', '–']);
    await page.getByLabel('Model', { exact: true }).selectOption('small-ear');
    await page.getByLabel('Seconds a call').fill('90');
    expect(await cost(page)).toEqual(['$0.00225', '$2250.00', '$67500.00']);
    await page.getByLabel('Model', { exact: true }).selectOption('unpriced');
    expect(await cost(page)).toEqual(['–', '–', '–']);
  });

  it('leads to the first call of a model, by keyboard alone', async () => {
    const page = await openModels();
    await page.getByRole('button', { name: 'Use it: Large Chat' }).waitFor();
    await page.getByLabel('Find by name').focus();
    await press(page, 'Use it');
    await page.getByRole('heading', { name: 'First call of Large Chat' }).waitFor();
    await page.getByText('"model": "large-chat"').waitFor();
    await page.getByText(`${dashboard.auth.publicUrl}/v1/chat/completions`).waitFor();
    await page.keyboard.press('Escape');
    for (const [name, path] of [
      ['Small Embed', '/embeddings'],
      ['Small Image', '/images/generations'],
      ['Small Video', '/videos'],
      ['Small Voice', '/audio/speech'],
      ['Small Ear', '/audio/transcriptions'],
    ]) {
      await page.getByRole('button', { name: `Use it: ${name}` }).click();
      await page.getByRole('dialog').getByText(`/v1${path} `).waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
    }
  });

  it('puts the cheapest ready chat model of the region into the first call of a workspace', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('ann@models.example');
    await registerAKey(dashboard.auth, { workspace_id: workspaceId, name: 'Laptop' });
    await page.goto(path);
    await page.getByText('"model": "small-chat"').waitFor();
    await page.getByLabel('Language').selectOption('Python');
    await page.getByText('model="small-chat"').waitFor();
    // A page with a route has no cache.
    await page.route('**/console/models', (route) => route.continue());
    dashboard.catalog.show([], {});
    await page.reload();
    await page.getByText('"model": "<id of a model>"').waitFor();
    await page.getByRole('link', { name: 'Compare their prices' }).click();
    await page.getByText('This region serves no model at the moment').waitFor();
    expect(new URL(page.url()).search).toBe('?region=us');
  });

  it('says what to do while the region knows no live model, and after it came back', async () => {
    dashboard.catalog.show(MODELS, undefined);
    const page = await openModels();
    await page.getByText('does not know yet which models it serves').waitFor();
    dashboard.catalog.show(MODELS, LIVE);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('cell', { name: 'Large Chat large-chat' }).waitFor();
  });
});
