import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type IdentityProvider, startIdentityProvider } from '@turnpike/identity-provider/startIdentityProvider';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { type RunningTelemetry, startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { signInAt } from '@turnpike/test-support/signInAt';
import { until } from '@turnpike/test-support/until';
import { ACCOUNT_ORIGIN, startAccount, type TestAccount } from './startAccount.ts';

const SECRET = 'the-secret-of-the-client-of-this-test';
const CLIENT = {
  client_id: 'turnpike',
  client_secret: SECRET,
  redirect_uris: ['local', 'expired'].map((id) => `${ACCOUNT_ORIGIN}/account/sign-in/oidc/return/${id}`),
};

let issuerPort: number;
let provider: IdentityProvider;
let telemetry: RunningTelemetry;
let account: TestAccount;
/** The answers of the mail server to an address. */
const refusals = new Map<string, number>();
beforeAll(async () => {
  issuerPort = await findFreePort();
  provider = await startProvider();
  telemetry = startTelemetry({
    ...{ service: 'control-plane', scope: 'global', otlpEndpoint: undefined, traceSampleRatio: 0 },
    log: aSilentLogger(),
  });
  const { issuer } = provider;
  account = await startAccount({
    telemetry,
    refuseMail: (address) => refusals.get(address),
    checkMs: 50,
    providers: [
      { id: 'local', name: 'Local', issuer, client_id: 'turnpike', client_secret: SECRET },
      { id: 'expired', name: 'Expired', issuer, client_id: 'turnpike', client_secret: 'a-secret-that-has-expired' },
    ],
  });
});
afterAll(async () => {
  await account.stop();
  await telemetry.shutdown();
  await provider.close();
});

const startProvider = () =>
  startIdentityProvider({ listenHost: '127.0.0.1', port: issuerPort, clients: [CLIENT], log: aSilentLogger() });

/** Waits until each of these samples has its value, or one above 0. */
const untilMeasured = (what: string, samples: Record<string, number | 'some'>): Promise<unknown> =>
  until(what, async () => {
    const measured = await readMetrics(telemetry);
    return Object.entries(samples).every(([name, value]) => {
      const found = measured.get(name);
      return value === 'some' ? found !== undefined && found > 0 : found === value;
    });
  });
const attempts = (outcome: string) => `turnpike_mail_attempts_total{outcome="${outcome}"}`;
const failures = (id: string, reason: string) =>
  `turnpike_provider_failures_total{provider="${id}",reason="${reason}"}`;
const answers = (id: string) => `turnpike_provider_answers{provider="${id}"}`;

it('counts the requests that it refuses, by why', async () => {
  const browser = account.openBrowser();
  await browser.post('/account/sign-in/oidc', { provider_id: 'nobody' });
  await browser.get('/account/user');
  await untilMeasured('two refusals', {
    'turnpike_faults_total{route="POST /account/sign-in/oidc",fault="unknown_provider"}': 1,
    'turnpike_faults_total{route="GET /account/user",fault="no_session"}': 1,
  });
});

const askForMail = (address: string) => account.openBrowser().post('/account/sign-in/link', { address });
/** Makes the next attempt of each waiting mail due, as its last one or not. */
const hasten = (isLast = false) =>
  account.db.$executeRaw`
    UPDATE pgboss.job SET start_after = now(), retry_limit = CASE WHEN ${isLast} THEN retry_count + 1 ELSE retry_limit END
    WHERE name = 'mail' AND state = 'retry'`;
/** Makes the next attempt the last one. On a busy machine the mail may be under way again, and waits only after it has failed. */
const hastenLast = () => until('a mail that waits', async () => (await hasten(true)) > 0);

/** Waits for a state of the newest mail. */
const untilState = (state: string) =>
  until(`a mail in state ${state}`, async () => {
    const [job] = await account.db.$queryRaw<{ state: string }[]>`
      SELECT state::TEXT AS state FROM pgboss.job WHERE name = 'mail' ORDER BY created_on DESC LIMIT 1`;
    return job?.state === state;
  });

it('measures the mails that wait, and attempts by what came of them', async () => {
  refusals.set('waits@example.com', 451);
  await askForMail('waits@example.com');
  await untilMeasured('a mail that waits', {
    ...{ turnpike_mails_waiting: 1, turnpike_mail_oldest_seconds: 'some' },
    ...{ [attempts('failed')]: 'some', [attempts('sent')]: 0 },
  });
  await untilState('retry');
  refusals.clear();
  await hasten();
  await untilMeasured('no mail that waits', {
    ...{ turnpike_mails_waiting: 0, turnpike_mail_oldest_seconds: 0 },
    ...{ [attempts('sent')]: 1, [attempts('gave_up')]: 0, [attempts('address_refused')]: 0 },
  });
});

it('counts no mail as waiting whose address the mail server refuses for good', async () => {
  refusals.set('nobody@example.com', 550);
  await askForMail('nobody@example.com');
  await untilMeasured('a refused address', { turnpike_mails_waiting: 0, [attempts('address_refused')]: 'some' });
  await untilState('retry');
  expect((await readMetrics(telemetry)).get('turnpike_mails_waiting')).toBe(0);
  await hastenLast();
  await untilState('failed');
  await untilMeasured('no mail that is given up because of us', { [attempts('gave_up')]: 0 });
});

it('counts a mail that is given up', async () => {
  refusals.set('lost@example.com', 451);
  await askForMail('lost@example.com');
  await untilMeasured('a mail that waits', { turnpike_mails_waiting: 1, [attempts('gave_up')]: 0 });
  await untilState('retry');
  await hastenLast();
  await untilMeasured('the last attempt', { turnpike_mails_waiting: 0, [attempts('gave_up')]: 1 });
});

/** Begins a sign-in and goes to the provider and back. */
async function signInBy(id: string, change = (search: string) => search) {
  const browser = account.openBrowser();
  const { body } = await browser.post('/account/sign-in/oidc', { provider_id: id });
  const { pathname, search } = await signInAt(body.url, { user: 'cleo' });
  return { end: async () => (await browser.get(pathname + change(search))).headers.get('location') };
}

it('counts sign-ins that a provider refuses because of us, and none that a browser spoils', async () => {
  await untilMeasured('answers of the providers', { [answers('local')]: 1, [answers('expired')]: 1 });
  const spoiled = await signInBy('local', (search) => search.replace(/code=[^&]{4}/, 'code=AAAA'));
  expect(await spoiled.end()).toBe('/sign-in?error=provider_refused');
  expect(await (await signInBy('expired')).end()).toBe('/sign-in?error=provider_refused');
  await untilMeasured('one refusal', {
    [failures('expired', 'refused_us')]: 1,
    [failures('local', 'refused_us')]: 0,
    [failures('local', 'away')]: 0,
  });
});

it('measures a provider that is away, and its return', async () => {
  const begun = await signInBy('local');
  await provider.close();
  expect(await begun.end()).toBe('/sign-in?error=provider_refused');
  await untilMeasured('the provider away', { [answers('local')]: 0, [failures('local', 'away')]: 1 });
  provider = await startProvider();
  await untilMeasured('the provider back', { [answers('local')]: 1, [failures('local', 'away')]: 1 });
});
