import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { aTopUp, TestSimulator } from './support/testSimulator.ts';

const { TURNPIKE_TEST_BROWSER: channel } = process.env;
/** The pages' rules: level AA of WCAG 2.2, and what axe holds for good practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

(channel === undefined ? describe.skip : describe)('the pages in Chromium', () => {
  const simulator = new TestSimulator();
  let seller: Server;
  let sellerUrl: string;
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    await simulator.start();
    seller = createServer((req, res) => res.setHeader('content-type', 'text/html').end(`<h1>Seller ${req.url}</h1>`));
    await new Promise<void>((resolve) => seller.listen(0, '127.0.0.1', resolve));
    sellerUrl = `http://localhost:${(seller.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath: `/usr/bin/${channel}`, args: ['--no-sandbox'] });
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    seller?.close();
    await simulator.close();
  });

  const expectNoFaults = async (name: string) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(axe.source);
      const options: axe.RunOptions = { runOnly: RULES, resultTypes: ['violations'] };
      const faults = await page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) =>
        violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })))`);
      expect({ name, colorScheme, faults }).toEqual({ name, colorScheme, faults: [] });
    }
  };
  const open = async () => {
    const { stripe } = simulator;
    const { id } = await stripe.customers.create({ name: 'Example Business', address: { country: 'IE' } });
    const session = await stripe.checkout.sessions.create(
      aTopUp(id, {
        customer_update: { address: 'auto' },
        success_url: `${sellerUrl}/done`,
        cancel_url: `${sellerUrl}/back`,
      }),
    );
    await page.goto(session.url ?? '');
    return { customer: id, session };
  };
  /** Moves by the Tab key until the button with this name has the focus. */
  const tabTo = async (name: string) => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement?.textContent')) === name) return;
    }
    throw new Error(`the Tab key does not reach ${name}`);
  };
  const titleOf = () => page.getByRole('heading', { level: 1 }).textContent();

  it('lets a visitor change the country, be declined, be asked by the bank, and pay, by the keyboard alone', async () => {
    const { session } = await open();
    expect(await titleOf()).toBe('Pay €30.75');
    await expectNoFaults('checkout');
    await page.getByLabel('Country').focus();
    await page.keyboard.type('Germany');
    await tabTo('Use this address');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Pay €29.75' }).waitFor();

    await page.getByRole('radio', { name: /: is declined$/ }).check();
    await tabTo('Pay €29.75');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').textContent()).toBe('Your card was declined.');
    await expectNoFaults('declined');

    await page.getByRole('radio', { name: /asks the bank once/ }).check();
    await tabTo('Pay €29.75');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your bank asks' }).waitFor();
    await expectNoFaults('bank');
    await tabTo('Approve');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${sellerUrl}/done`);
    expect((await simulator.untilInvoiced(session.id)).invoice.total).toBe(2_975);

    await page.goto(session.url ?? '');
    expect(await titleOf()).toBe('This payment is done');
    await expectNoFaults('done');
  });

  it('leads back to the seller', async () => {
    await open();
    await page.getByRole('link', { name: 'Cancel and go back' }).click();
    await page.waitForURL(`${sellerUrl}/back`);
  });

  it('shows address, cards and invoices in the portal', async () => {
    const { customer, session } = await open();
    await page.getByRole('button', { name: 'Pay €30.75' }).click();
    await page.waitForURL(`${sellerUrl}/done`);
    const { invoice } = await simulator.untilInvoiced(session.id);
    const portal = await simulator.stripe.billingPortal.sessions.create({ customer, return_url: `${sellerUrl}/back` });
    await page.goto(portal.url);
    await page.getByRole('button', { name: 'Make default: visa ending in 4242' }).click();
    await page.getByText('visa ending in 4242 (default)').waitFor();
    await expectNoFaults('portal');
    expect(await page.getByRole('link', { name: invoice.number ?? '' }).getAttribute('href')).toContain('/pdf');
    await page.getByRole('link', { name: 'Go back' }).click();
    await page.waitForURL(`${sellerUrl}/back`);
  });
});
