import { expect, it } from '@jest/globals';
import { inBrowser } from '../inBrowser.ts';
import { createOrganization, goTo, press } from '../startDashboard.ts';
import { ageProofs, invite, signIn } from '../walks.ts';
import { dashboard } from './dashboard.ts';

inBrowser('the dashboard in Chromium', () => {
  const openContext = () => dashboard.openContext();
  const openAs = (address: string) => dashboard.openAs(address);

  it('takes two people from a mailed link to an organization, a workspace, its audit and out again', async () => {
    const ann = await (await openContext()).newPage();
    await signIn(dashboard, ann, 'ann@account.example');
    await ann.getByText('You are not a member of an organization yet').waitFor();
    await createOrganization(ann, 'Acme');

    await ann.getByRole('button', { name: 'Create workspace in European Union' }).click();
    await ann.getByText('A workspace is permanent.').waitFor();
    await ann.getByLabel('Name').fill('Production');
    await ann.getByRole('button', { name: 'Create for good' }).click();
    await ann.getByRole('region', { name: 'European Union' }).getByText('Production').waitFor();

    await goTo(ann, 'Members');
    await invite(ann, 'ben@account.example');
    await ann.getByRole('cell', { name: 'ben@account.example', exact: true }).waitFor();

    const benContext = await openContext();
    const invitation = await benContext.newPage();
    await invitation.goto(`/invitation#${await dashboard.account.readToken('ben@account.example')}`);
    await invitation.getByText('keep this page open').waitFor();
    const ben = await benContext.newPage();
    await signIn(dashboard, ben, 'ben@account.example');
    await invitation.getByRole('button', { name: 'Accept the invitation' }).click();
    await invitation.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();
    await invitation.getByText('An owner of the organization can create it.').waitFor();
    expect(await invitation.getByRole('link', { name: 'Audit' }).count()).toBe(0);

    await goTo(ann, 'Audit');
    await ann.getByRole('cell', { name: 'workspace created' }).waitFor();
    await ann.getByRole('cell', { name: 'invitation accepted' }).waitFor();

    await ann.getByRole('button', { name: 'Sign out' }).click();
    await ann.getByLabel('E-mail address').waitFor();
    await ann.goto('/organizations');
    await ann.waitForURL('**/sign-in');
  });

  it('has the links of a narrow window behind a button, until one of them leads elsewhere', async () => {
    const page = await (await openContext()).newPage();
    await signIn(dashboard, page, 'nan@account.example');
    await createOrganization(page, 'Narrow');
    await page.setViewportSize({ width: 320, height: 640 });
    const heading = await page.getByRole('heading', { name: 'Workspaces', level: 1 }).boundingBox();
    expect(heading?.y).toBeLessThan(160);
    const link = page.getByRole('link', { name: 'Members' });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await link.click();
    await page.getByRole('heading', { name: 'Members', level: 1 }).waitFor();
    await link.waitFor({ state: 'hidden' });
  });

  it('refuses the last owner that leaves, in words, and asks for a proof that is too old', async () => {
    const context = await openContext();
    const page = await context.newPage();
    await signIn(dashboard, page, 'cleo@account.example');
    await createOrganization(page, 'Cleo & sons');
    await goTo(page, 'Members');
    await page.getByRole('button', { name: 'Leave the organization' }).click();
    await page.getByRole('button', { name: 'Leave', exact: true }).last().click();
    await page.getByText('An organization has an owner at all times').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await ageProofs(dashboard, 'cleo@account.example');
    await invite(page, 'dora@account.example', 'Admin');
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    const before = dashboard.account.mails.length;
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('The link is on its way').waitFor();
    const other = await context.newPage();
    await other.goto(`/step-up#${await dashboard.account.readToken('cleo@account.example', before)}`);
    await other.getByRole('button', { name: 'Confirm', exact: true }).click();
    await other.getByText('Confirmed for 10 minutes').waitFor();

    await page.getByRole('cell', { name: 'dora@account.example', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Withdraw the invitation of dora@account.example' }).click();
    await page.getByRole('button', { name: 'Withdraw', exact: true }).last().click();
    await page.getByRole('cell', { name: 'Withdrawn' }).waitFor();
  });

  it('goes from the sign-in page to a new organization by keyboard alone', async () => {
    const page = await (await openContext()).newPage();
    await page.goto('/sign-in');
    await page.getByLabel('E-mail address').focus();
    await page.keyboard.type('nobody at all');
    await page.keyboard.press('Enter');
    await page.getByText('must be an e-mail address').waitFor();
    await page.goto(`/sign-in#${await dashboard.mailToken('eve@account.example')}`);
    await page.getByRole('button', { name: 'Sign in now' }).waitFor();
    await press(page, 'Sign in now');
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
    await press(page, 'Create an organization');
    await page.keyboard.type('Eve');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();
  });

  it('changes a role, removes a member, renames the organization and ends a session', async () => {
    const fay = await openAs('fay@account.example');
    const organizationId = await createOrganization(fay, 'Fay');
    await goTo(fay, 'Members');
    await invite(fay, 'gus@account.example');
    await fay.getByRole('cell', { name: 'gus@account.example', exact: true }).waitFor();
    const token = await dashboard.account.readToken('gus@account.example');
    const { page: gus } = await dashboard.openSession('gus@account.example');
    await gus.goto(`/invitation#${token}`);
    await gus.getByRole('button', { name: 'Accept the invitation' }).click();
    await gus.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();

    await fay.reload();
    await fay.getByRole('button', { name: 'Change role of gus@account.example' }).click();
    await fay.getByRole('radio', { name: 'Admin' }).check();
    await fay.getByRole('button', { name: 'Change the role' }).click();
    await fay.getByRole('region', { name: 'Members' }).getByRole('cell', { name: 'Admin', exact: true }).waitFor();
    await gus.goto(`/organizations/${organizationId}/audit`);
    await gus.getByRole('cell', { name: 'member role changed' }).waitFor();
    await gus.goto(`/organizations/${organizationId}/members`);
    await gus.getByRole('button', { name: 'Leave the organization' }).waitFor();
    expect(await gus.getByRole('button', { name: 'Remove fay@account.example' }).count()).toBe(0);

    await fay.getByRole('button', { name: 'Remove gus@account.example' }).click();
    await fay.getByText('loses access at once').waitFor();
    await fay.getByRole('button', { name: 'Remove', exact: true }).last().click();
    await fay.getByRole('button', { name: 'Remove gus@account.example' }).waitFor({ state: 'detached' });
    await gus.reload();
    await gus.getByText('There is no such organization').waitFor();

    await fay.goto('/organizations');
    await fay.getByRole('button', { name: 'Rename Fay' }).click();
    await fay.getByRole('textbox', { name: 'Name' }).fill('Fay and friends');
    await fay.getByRole('button', { name: 'Rename', exact: true }).last().click();
    await fay.getByRole('link', { name: 'Fay and friends' }).waitFor();

    const { page: elsewhere } = await dashboard.openSession('fay@account.example');
    await elsewhere.goto('/sessions');
    await elsewhere.getByRole('button', { name: /^End the session of Chrome on Linux/ }).click();
    await elsewhere.getByRole('button', { name: /^End the session/ }).waitFor({ state: 'detached' });
    await fay.reload();
    await fay.waitForURL('**/sign-in');
  });

  it('adds a passkey, signs in and confirms by it, and removes it', async () => {
    const { page } = await dashboard.openSession('kim@account.example');
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
    await page.goto('/sessions');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Rename the passkey Laptop' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Old laptop');
    await page.getByRole('button', { name: 'Rename', exact: true }).last().click();
    await page.getByRole('cell', { name: 'Old laptop', exact: true }).waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
    await ageProofs(dashboard, 'kim@account.example');
    await goTo(page, 'Sessions');
    await page.getByRole('button', { name: 'Remove the passkey Old laptop' }).click();
    await page.getByText('signs you in no more').waitFor();
    await page.getByRole('button', { name: 'Remove', exact: true }).last().click();
    await page.getByRole('button', { name: 'Confirm by a passkey' }).click();
    await page.getByText('You have no passkey yet').waitFor();
  });

  it('shows that a read failed, and reads again at a click', async () => {
    const page = await openAs('hal@account.example');
    await page.getByText('You are not a member of an organization yet').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Create an organization' }).click();
    await page.getByLabel('Name').fill('Hal');
    await page.getByRole('button', { name: 'Create organization' }).click();
    await page.getByText('Turnpike does not answer').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    await page.context().setOffline(false);
    await page.route('**/account/sessions', (route) => route.abort());
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByText('Turnpike does not answer').waitFor();
    await page.unroute('**/account/sessions');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('This session').waitFor();
  });

  it('answers a path without a page, and one that the role does not show, in words', async () => {
    const ida = await openAs('ida@account.example');
    const organizationId = await createOrganization(ida, 'Ida');
    await goTo(ida, 'Members');
    await invite(ida, 'jon@account.example');
    await ida.getByRole('cell', { name: 'jon@account.example', exact: true }).waitFor();
    const token = await dashboard.account.readToken('jon@account.example');
    const { page: jon } = await dashboard.openSession('jon@account.example');
    await jon.goto(`/invitation#${token}`);
    await jon.getByRole('button', { name: 'Accept the invitation' }).click();
    await jon.getByRole('heading', { name: 'Workspaces', level: 1 }).waitFor();
    await jon.goto(`/organizations/${organizationId}/audit`);
    await jon.getByText('Your role does not show this').waitFor();
    await jon.getByText('Ask an owner').waitFor();
    expect((await jon.goto('/nowhere'))?.status()).toBe(404);
  });

  it('says in a sentence how a sign-in at a provider ended', async () => {
    const page = await (await openContext()).newPage();
    for (const reason of [
      'sign_in_is_over',
      'provider_refused',
      'address_not_verified',
      'sign_in_and_link_instead',
      'identity_is_taken',
      'another_user',
    ]) {
      await page.goto(`/sign-in?error=${reason}`);
      expect({ reason, text: await page.getByRole('alert').textContent() }).toEqual({
        reason,
        text: expect.stringMatching(/\. |\.$/),
      });
    }
  });
});
