import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { Region } from '../../libs/config/src/region.ts';
import { until } from '../../libs/test-support/src/until.ts';
import { type CaughtMail, untilMail } from '../../libs/test-support/src/untilMail.ts';
import { runTurnpikeHere } from '../../test/support/runTurnpike.ts';
import { startTestStack, type TestStack } from '../../test/support/startTestStack.ts';
import { inBrowser } from './inBrowser.ts';
import { createOrganization, goTo, launchBrowser, PICTURES, TAKES_PICTURES } from './startDashboard.ts';
import { enterDetails } from './walks.ts';

// The way of docs/members.md on a whole stack in Chromium: from nothing to calls, their cost and the end of a key.
// `JOURNEYS=20` goes it twenty times.

const { JOURNEYS = '1' } = process.env;
const TIMES = Array.from({ length: Number(JOURNEYS) }, (_, time) => time + 1);
const MODEL = 'llama-3.3-70b-instruct';
/** The link to the file of an invoice. That of a credit note has more behind the number of its invoice. */
const INVOICE = /^pdf of TURN-\d+$/;
/** A user of the identity provider. */
const INVITED = { name: /Cleo/, address: 'cleo@example.com' };

/** The place of each payer's workspace, and its amounts as our pages and those of the payment processor write them. */
const PAYERS = {
  us: { place: 'United States', sign: '$', signThere: 'US$', credit: '$25.00' },
  // The rate of the local stack is 1.1 dollars a euro.
  eu: { place: 'European Union', sign: '€', signThere: '€', credit: '$27.50' },
} as const;
const REGIONS = ['us', 'eu'] as const;
const PAYMENTS = REGIONS.flatMap((region) => TIMES.map((time) => ({ region, time })));

/** A charge as the payments simulator lists it. */
interface Charge {
  id: string;
  customer: string;
  metadata: { top_up_id?: string };
}

inBrowser('from nothing to a paid call', () => {
  let stack: TestStack<Region>;
  let browser: Browser;
  beforeAll(async () => {
    stack = await startTestStack({ kafka: false, regions: [...REGIONS] });
    browser = await launchBrowser();
    await mkdir(PICTURES, { recursive: true });
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop(AbortSignal.abort());
  });

  const account = () => stack.running.stack.account;
  const newMail = (to: string, after?: CaughtMail) =>
    untilMail(account().mail_catcher_url, { to, ...(after && { after }) });

  async function openPage(): Promise<Page> {
    const context = await browser.newContext({
      baseURL: account().origin,
      locale: 'en-GB',
      timezoneId: 'UTC',
      viewport: { width: 1_280, height: 900 },
    });
    context.setDefaultTimeout(60_000);
    return context.newPage();
  }

  /** Signs in by a mailed link, which comes after other mails to the address. */
  async function signInByMail(page: Page, address: string, after?: CaughtMail): Promise<void> {
    await page.goto('/sign-in');
    await page.getByLabel('E-mail address').fill(address);
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('a link is on its way').waitFor();
    await page.goto(toLink((await newMail(address, after)).text));
    await page.getByRole('button', { name: 'Sign in now' }).click();
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  }

  async function signInByPasskey(page: Page): Promise<void> {
    const authenticator = await page.context().newCDPSession(page);
    await authenticator.send('WebAuthn.enable');
    await authenticator.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    });
    await goTo(page, 'Sessions');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  }

  async function takePicture(page: Page, name: string): Promise<void> {
    if (TAKES_PICTURES) await page.screenshot({ path: join(PICTURES, `journey-${name}.png`) });
  }

  /** Waits for the record of a call. It comes within 2 s of the answer; until then the page says so, and asks again at a click. */
  async function untilCharge(page: Page): Promise<void> {
    await until('the record of the call', async () => {
      const charge = page.getByRole('row', { name: /^Charge/ });
      await charge.or(page.getByRole('alert')).first().waitFor();
      if (await charge.isVisible()) return true;
      await page.getByRole('button', { name: 'Show the request' }).click();
      return false;
    });
  }

  it.each(TIMES)('leads a new user to a call, its cost and the end of the key, time %d', async (time) => {
    const address = `owner-${time}@example.com`;
    const page = await openPage();
    await signInByMail(page, address);
    await signInByPasskey(page);
    await createOrganization(page, 'Acme');
    await createWorkspace(page);

    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Server');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor();
    const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have copied it' }).click();

    // On a busy machine the feed with the first credit takes longer than a call waits for it, and so may the ledger's balances.
    const call = await until('an answer to the first call', async () => {
      const { status, body } = await callModel(secret);
      return status === 402 || status === 503 ? undefined : { status, ...body };
    });
    expect(call).toMatchObject({ status: 200, usage: { cost: expect.any(Number) } });

    await goTo(page, 'Requests');
    await page.getByLabel('Id of the request').fill(call.id ?? '');
    await page.getByRole('button', { name: 'Show the request' }).click();
    await untilCharge(page);
    await takePicture(page, 'request');
    await goTo(page, 'Usage');
    await page.getByRole('cell', { name: MODEL }).first().waitFor();
    await takePicture(page, 'usage');
    await goTo(page, 'Overview');
    await page.getByRole('region', { name: 'First call' }).last().getByText('/chat/completions').waitFor();
    await page.waitForLoadState('networkidle');
    await takePicture(page, 'overview');

    await goTo(page, 'Playground');
    await page.getByLabel('Model', { exact: true }).selectOption(MODEL);
    await page.getByLabel('Message').fill('What is a turnpike?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/The answer is whole\. Cost: \$0\.0*[1-9]/).waitFor();
    await takePicture(page, 'playground');
    await page.getByRole('link', { name: /^Show the request/ }).click();
    await untilCharge(page);
    await goTo(page, 'Models');
    await page.getByText(MODEL).first().waitFor();
    await takePicture(page, 'models');
    await page.goBack();
    await page.goBack();

    // The user of the identity provider has its address once.
    const guests = [`guest-${time}@example.com`, ...(time === 1 ? [INVITED.address] : [])];
    for (const address of guests) await inviteGuest(page, address);

    await page.getByRole('navigation').getByRole('link', { name: 'Production (us)' }).click();
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: /^Revoke Server/ }).click();
    await page.getByRole('button', { name: 'Revoke for good' }).click();
    await page
      .getByRole('row', { name: /Server/ })
      .getByText('Revoked', { exact: true })
      .waitFor();
    expect((await callModel(secret)).status).toBe(401);
    await page.context().close();
  });

  it('goes on with the pages of the account layer while the region hangs, and with all once it answers', async () => {
    const page = await openPage();
    await signInByMail(page, 'hung@example.com');
    await createOrganization(page, 'Acme');
    await createWorkspace(page);
    const { edge } = stack.running.parts.services;
    process.kill(edge.pid, 'SIGSTOP');
    try {
      await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).click();
      // Keys that Overview has just loaded are shown for 10 s without a question.
      await page.reload();
      await page.getByText('The region does not answer').waitFor();
      await goTo(page, 'Members');
      await page.getByRole('cell', { name: 'Owner', exact: true }).waitFor();
    } finally {
      process.kill(edge.pid, 'SIGCONT');
    }
    await page.getByRole('navigation').getByRole('link', { name: 'Production (us)' }).click();
    await goTo(page, 'Keys');
    await page.getByText('This workspace has no key yet').waitFor();
    await page.context().close();
  });

  it.each(PAYMENTS)(
    'leads from a refused key over payments, a refund and a dispute to calls with the same key in $region, time $time',
    async ({ region, time }) => {
      const { place, sign, signThere, credit } = PAYERS[region];
      const page = await openPage();
      await signInByMail(page, `payer-${region}-${time}@example.com`);
      // The first workspace of a user has credit, and the second one has none.
      await createOrganization(page, 'Acme');
      await createWorkspace(page, place);
      await page.goto('/organizations');
      await createOrganization(page, 'Bolt');
      await createWorkspace(page, place);
      await goTo(page, 'Keys');
      await page.getByRole('button', { name: 'Create a key' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill('Server');
      await page.getByRole('button', { name: 'Create the key' }).click();
      const secret = (await page.getByLabel('Secret of the key').textContent()) ?? '';
      await page.getByRole('button', { name: 'I have copied it' }).click();
      // The ledger's balances of a new workspace may be late, which is 503 until they come.
      const first = await until('a verdict on the first call', async () => {
        const { status } = await callModel(secret, region);
        return status !== 503 && status;
      });
      expect(first).toBe(402);

      // An Irish consumer: a declined card, a page that is left, and a card whose bank asks.
      await goTo(page, 'Billing');
      await page.getByRole('button', { name: 'Go to the payment page' }).click();
      await page.getByLabel('Country').selectOption('IE');
      await page.getByRole('button', { name: 'Use this address' }).click();
      await page.getByRole('row', { name: `Total ${signThere}30.75` }).waitFor();
      await payBy(page, /4000 0000 0000 0002/);
      await page.getByText('Your card was declined.').waitFor();
      await page.getByRole('link', { name: 'Cancel and go back' }).click();
      await page.getByText(`${sign}25.00 is not paid, and nothing was charged.`).waitFor();
      expect((await callModel(secret, region)).status).toBe(402);
      await page.getByRole('button', { name: 'Go on to the payment', exact: true }).click();
      await payBy(page, /4000 0027 6000 3184/);
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText(`${sign}30.75 was paid, and ${credit} was added to your credit.`).waitFor();
      await takePicture(page, `billing-${region}`);
      await until(
        'an answer to a call with the same key',
        async () => (await callModel(secret, region)).status === 200,
      );

      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: INVOICE }).click();
      const invoice = await (await downloading).path();
      expect((await readFile(invoice)).subarray(0, 5).toString()).toBe('%PDF-');

      // A German business.
      await page.getByRole('button', { name: 'Enter the address' }).click();
      await enterDetails(page, { country: 'DE', vatId: 'DE123456100' });
      await page.getByText('Reverse charge: your business owes the VAT in its own country.').waitFor();
      await page.getByRole('button', { name: 'Go to the payment page' }).click();
      await page.getByRole('row', { name: `VAT (reverse charge) ${signThere}0.00` }).waitFor();
      await payBy(page, /4242 4242 4242 4242/);
      await page.getByText(`${sign}25.00 was paid, and ${credit} was added to your credit.`).waitFor();
      await page.getByRole('link', { name: INVOICE }).nth(1).waitFor();

      // A refund of 10 by the operator, with its share of the VAT.
      const workspaceId = /workspaces\/([^/]+)/.exec(page.url())?.[1] ?? '';
      const { top_ups: topUps } = await turnpike(region, 'top-ups', 'list', '--workspace', workspaceId);
      const taxed = topUps.find((topUp: { tax_cents: number }) => topUp.tax_cents > 0);
      await turnpike(region, 'refunds', 'start', taxed.top_up_id, '--amount', '10', '--yes');
      await until('the credit note', async () => {
        await page.reload();
        await page.getByRole('link', { name: INVOICE }).nth(1).waitFor();
        return page.getByText(/^Credit note for TURN-/).isVisible();
      });
      await page.getByRole('cell', { name: `${sign}12.30`, exact: true }).waitFor();

      // One automatic top-up, since the limits allow no second one.
      await page.getByRole('button', { name: 'Switch on automatic top-up' }).click();
      await page.getByLabel('Card').selectOption({ label: await labelOf(page, /^Visa ending in 4242/) });
      await page.getByLabel('When the credit is below, in dollars').fill('100');
      await page.getByLabel('At most in a day').fill('25');
      await page.getByLabel('At most in a month').fill('25');
      await page.getByRole('button', { name: 'Allow these charges' }).click();
      await page.getByRole('button', { name: 'Switch off automatic top-up' }).waitFor();
      await until('the invoice of the automatic top-up', async () => {
        await page.reload();
        await page.getByText(/^Credit note for TURN-/).waitFor();
        return (await page.getByRole('link', { name: INVOICE }).count()) === 3;
      });
      await takePicture(page, `billing-all-${region}`);

      // The bank of the cardholder disputes that payment, and the seller wins.
      const { charges }: { charges: Charge[] } = await orderPayments('GET', 'log');
      const customer = charges.find(({ metadata }) => metadata.top_up_id === taxed.top_up_id)?.customer;
      const { id: charge } = charges.findLast((charge) => charge.customer === customer) ?? {};
      const { id: disputeId } = await orderPayments('POST', 'disputes', { charge });
      await until('the refusal of calls', async () => (await callModel(secret, region)).status === 402);
      await goTo(page, 'Workspaces');
      // Workspaces that were loaded are shown for 10 s without a question.
      await page.reload();
      await page.getByText('On hold: every call is refused.').waitFor();
      await orderPayments('POST', `disputes/${disputeId}/win`);
      await until('an answer after the dispute', async () => (await callModel(secret, region)).status === 200);
      await page.reload();
      await page.getByText(/^Active\./).waitFor();
      await page.context().close();
    },
  );

  /** Runs a command of the operator. Returns its JSON. */
  async function turnpike(region: Region, ...words: string[]) {
    const { code, stdout, stderr } = await runTurnpikeHere([...words, '--region', region, '--json'], stack);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  /** Gives an order to the payments simulator. */
  async function orderPayments(method: string, path: string, body?: object) {
    const answer = await fetch(`${account().payments_admin_url}/admin/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(200);
    return JSON.parse(await answer.text());
  }

  /** The label of the saved card with these digits. */
  const labelOf = async (page: Page, digits: RegExp): Promise<string> => {
    const options = page.getByLabel('Card').locator('option');
    return (await options.filter({ hasText: digits }).first().textContent()) ?? '';
  };

  /** Pays on the payment page by one of its test cards. */
  async function payBy(page: Page, card: RegExp): Promise<void> {
    await page.getByRole('radio', { name: card }).check();
    await page.getByRole('button', { name: /^Pay / }).click();
  }

  /** Invites a guest, who signs in by mail or at the identity provider, and accepts. */
  async function inviteGuest(page: Page, address: string): Promise<void> {
    await goTo(page, 'Members');
    await page.getByRole('button', { name: 'Invite a member' }).first().click();
    await page.getByLabel('E-mail address').fill(address);
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByRole('cell', { name: address, exact: true }).waitFor();
    const guest = await openPage();
    const invitation = await newMail(address);
    if (address === INVITED.address) await signInAtProvider(guest);
    else await signInByMail(guest, address, invitation);
    await guest.goto(toLink(invitation.text));
    await guest.getByRole('button', { name: 'Accept the invitation' }).click();
    await guest.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();
    await guest.context().close();
  }

  async function createWorkspace(page: Page, place: string = PAYERS.us.place): Promise<void> {
    await page.getByRole('button', { name: `Create workspace in ${place}` }).click();
    await page.getByText('A workspace is permanent.').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('Production');
    await page.getByRole('button', { name: 'Create for good' }).click();
    await page.getByRole('region', { name: place }).getByRole('link', { name: 'Production' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  }

  async function signInAtProvider(page: Page): Promise<void> {
    await page.goto('/sign-in');
    await page.getByRole('button', { name: /Local identity provider/ }).click();
    await page.getByRole('button', { name: INVITED.name }).first().click();
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
  }

  async function callModel(
    secret: string,
    region: Region = 'us',
  ): Promise<{ status: number; body: { id?: string; usage?: { cost: number } } }> {
    const response = await fetch(`${stack.running.stack.regions[region].base_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    return { status: response.status, body: (await response.json()) as object };
  }
});

/** Returns the address in a mail. */
function toLink(text: string): string {
  const link = /https?:\/\/\S+/.exec(text)?.[0];
  if (!link) throw new Error('the mail has no link');
  return link;
}
