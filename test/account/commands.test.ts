import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { INTERNAL_SERVICES } from '@turnpike/config/services';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { startAccount, type TestAccount } from '../../services/control-plane/test/startAccount.ts';
import {
  type OperatorListener,
  startOperatorListener,
} from '../../services/control-plane/test/startOperatorListener.ts';
import { addCredit } from '../../services/usage-ledger/src/credits/addCredit.ts';
import { reportSome } from '../../services/usage-ledger/src/day-totals/reportDays.ts';
import { aPartition, openTestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { runTurnpikeHere } from '../support/runTurnpike.ts';

let account: TestAccount;
let listener: OperatorListener;
let folder: string;
let stackFile: string;
let organizationId: string;
let userId: string;
let workspaceId: string;
beforeAll(async () => {
  account = await startAccount();
  listener = await startOperatorListener(account);
  folder = await mkdtemp(join(tmpdir(), 'turnpike-account-'));
  stackFile = await describeStack({ 'control-plane': { internal_url: listener.url, pid: process.pid } });

  const owner = await account.signIn('owner@example.com');
  userId = owner.userId;
  organizationId = (await owner.post('/account/organizations', { name: 'Acme' })).body.organization_id;
  const made = await owner.post(`/account/organizations/${organizationId}/workspaces`, {
    region: 'us',
    name: 'Acme US',
  });
  workspaceId = made.body.workspace_id;
});
afterAll(async () => {
  await listener.stop();
  await account.stop();
  await rm(folder, { recursive: true });
});

/** Describes a stack of two regions whose services do not run. */
async function describeStack(services: object): Promise<string> {
  const secretsFile = join(folder, 'secrets.json');
  await writeFile(secretsFile, JSON.stringify({ internalKeys: listener.region.signingKeys }));
  const away = { internal_url: 'http://127.0.0.1:1', pid: process.pid };
  const region = {
    services: Object.fromEntries(INTERNAL_SERVICES.map((name) => [name, away])),
    secrets_file: secretsFile,
  };
  const file = join(folder, `${Object.keys(services).length}.json`);
  await writeFile(file, JSON.stringify({ port_base: 'test', services, regions: { us: region, eu: region } }));
  return file;
}

function toClient(service: string): Client<typeof controlPlaneApi> {
  const internalHeaders = createTokenIssuer({ key: listener.region.keyOf(service) });
  return createClient(controlPlaneApi, { url: listener.url, internalHeaders, timeoutMs: 30_000 });
}

const run = (...args: string[]) => runTurnpikeHere(args, { stackFile });
async function read(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

it('lists and shows organizations and members', async () => {
  expect(await read('organizations', 'list')).toEqual({
    organizations: [expect.objectContaining({ organization_id: organizationId, is_on_hold: false })],
  });
  expect(await read('organizations', 'show', organizationId)).toMatchObject({
    name: 'Acme',
    workspaces: [{ region: 'us', name: 'Acme US', status: 'active', monthly_cap_usd: null }],
  });
  expect((await read('members', 'list', organizationId)).members).toEqual([
    expect.objectContaining({ user_id: userId, role: 'owner', address: 'owner@example.com' }),
  ]);
  expect((await run('organizations', 'show', organizationId)).stdout).toMatch(/us\s+Acme US\s+active/);
});

it('opens and ends holds, with the person in the audit', async () => {
  const hold = await read('holds', 'open', organizationId, '--reason', 'dispute', '--note', 'du_1');
  expect(hold).toMatchObject({ reason: 'dispute', note: 'du_1', written_to: { stack: 'test', region: 'all' } });
  const second = await read('holds', 'open', organizationId, '--reason', 'legal');
  expect((await read('holds', 'list')).holds).toHaveLength(2);
  expect(await read('holds', 'end', second.hold_id)).toMatchObject({ organization_is_on_hold: true });
  expect((await run('holds', 'end', hold.hold_id)).stdout).toContain('is on hold no more');
  expect((await read('holds', 'list')).holds).toEqual([]);
  expect((await read('holds', 'list', '--organization', organizationId)).holds).toHaveLength(2);

  const { lines } = await read('audit', 'list', organizationId);
  expect(lines[0]).toMatchObject({ action: 'hold.ended', actor: expect.stringMatching(/^operator:\w/) });
  expect((await read('audit', 'list', organizationId, '--before', lines[0].audit_id)).lines[0]).toEqual(lines[1]);
});

it('records verifications by their reference', async () => {
  const words = ['--kind', 'document', '--provider', 'checker', '--reference', 'vs_1', '--user', userId];
  const added = await read('verifications', 'add', organizationId, ...words, '--status', 'processing');
  expect(added).toMatchObject({ user_id: userId, status: 'processing', decided_at: null });
  const options = ['--status', 'verified', '--expires', '2100-01-01', '--redacted'];
  expect(await read('verifications', 'set', added.verification_id, ...options)).toMatchObject({
    status: 'verified',
    expires_at: '2100-01-01T00:00:00.000Z',
    redacted_at: expect.any(String),
  });
  expect((await run('verifications', 'list', organizationId)).stdout).toMatch(/verified .*checker +vs_1/);
  const again = await run('verifications', 'add', organizationId, ...words, '--status', 'processing');
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('recorded already')]);
});

it('shows the days that a ledger reported, and those of a restored one once its epoch is confirmed', async () => {
  expect((await run('totals', 'list', workspaceId)).stdout).toContain('No day of this workspace was reported.');
  expect((await run('totals', 'epochs')).stdout).toContain('No region has reported.');
  const ledger = await openTestLedger();
  const report = () => reportSome(ledger.db, toClient('usage-ledger'));
  const { deliver } = aPartition(ledger.db);
  const aCall = (day: number, chargeNanoUsd: bigint) =>
    aUsageRecorded({
      ...{ workspaceId, keyId: 'key_of_acme', startedAtMs: Date.UTC(2026, 9, day) },
      ...{ chargeNanoUsd, formulaNanoUsd: chargeNanoUsd, holdNanoUsd: chargeNanoUsd },
    });
  await deliver([aCall(5, 1_500_000_000n), aCall(5, 2n), aCall(6, 4n)]);
  expect(await report()).toBe('counted');
  const aDay = (day: string, nano: string, requests: number) =>
    expect.objectContaining({ day, spend_nano_usd: nano, requests });
  const before = [aDay('2026-10-05', '1500000002', 2), aDay('2026-10-06', '4', 1)];
  expect(await read('totals', 'list', workspaceId)).toEqual({ workspace_id: workspaceId, days: before });
  expect((await run('totals', 'list', workspaceId)).stdout).toMatch(/2026-10-05 +1\.500000002 +2 +\d{4}-/);

  // A restored ledger has another epoch and tells every day again.
  await ledger.db.$executeRaw`UPDATE day_report_state SET epoch = gen_random_uuid()`;
  await ledger.db.$executeRaw`DELETE FROM day_report`;
  await deliver([aCall(6, 8n)]);
  expect(await report()).toBe('aside');
  expect((await read('totals', 'list', workspaceId)).days).toEqual(before);
  const { epochs } = await read('totals', 'epochs');
  expect(epochs).toEqual([
    expect.objectContaining({ region: 'us', confirmed_at: null, confirmed_by: null }),
    expect.objectContaining({ region: 'us', confirmed_by: 'the first report' }),
  ]);
  const { epoch } = epochs[0];
  expect(await read('totals', 'confirm', 'us', epoch)).toMatchObject({
    ...{ region: 'us', epoch, confirmed_by: expect.stringMatching(/^operator:\w/) },
    written_to: { stack: 'test', region: 'all' },
  });
  expect((await read('totals', 'list', workspaceId)).days).toEqual([before[0], aDay('2026-10-06', '12', 2)]);
  expect((await run('totals', 'confirm', 'us', epoch)).stdout).toContain(
    `The days that us reported in ${epoch} count now.`,
  );
  await ledger.close();
});

it('imports rates from a file of the central bank, and shows them', async () => {
  expect((await run('rates', 'list')).stdout).toContain('There are no rates.');
  const file = join(folder, 'rates.csv');
  const key = 'EXR.M.USD.EUR.SP00.A';
  const header = 'KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,TITLE';
  const aLine = (period: string, value: string, of = key) => `${of},M,USD,EUR,SP00,A,${period},${value},A,"US, euro"`;
  await writeFile(file, [header, aLine('2026-02', '1.0842'), aLine('2026-03', '1.09123'), ''].join('\r\n'));
  expect(await read('rates', 'import', file)).toMatchObject({ added: 2, kept: [], written_to: { stack: 'test' } });
  expect((await run('rates', 'import', file)).stdout).toContain('0 rates were added.');
  expect((await read('rates', 'list')).rates).toEqual([
    expect.objectContaining({ month: '2026-04', usd_per_eur: '1.0912', source_period: '2026-03', series: key }),
    expect.objectContaining({
      month: '2026-03',
      usd_per_eur: '1.0842',
      imported_by: expect.stringMatching(/^operator:/),
    }),
  ]);
  await writeFile(file, [header, aLine('2026-02', '1.1'), aLine('2026-04', '1.5')].join('\n'));
  const refused = await run('rates', 'import', file);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--confirmed')]);
  expect((await run('rates', 'import', file, '--confirmed')).stdout).toContain('2026-03 keeps the rate of 1.0842');
  for (const [line, what] of [
    [aLine('2026-05', '1.1', 'EXR.D.USD.EUR.SP00.A'), 'EXR.D.USD.EUR.SP00.A'],
    [aLine('2026-05-01', '1.1'), '2026-05-01'],
    [aLine('2026-05', ''), '2026-05'],
  ] as const) {
    await writeFile(file, `${header}\n${line}\n`);
    const { code, stderr } = await run('rates', 'import', file);
    expect([code, stderr]).toEqual([1, expect.stringContaining(what)]);
  }
  await writeFile(file, 'nothing');
  expect((await run('rates', 'import', file)).code).toBe(1);
  expect((await run('rates', 'import', join(folder, 'absent.csv'))).stderr).toContain('cannot be read');
});

it('shows the wallet of a workspace with its transfers', async () => {
  const aWallet = { workspace_id: workspaceId, credited_usd: '5' };
  expect(await read('wallet', 'show', workspaceId)).toMatchObject({
    ...aWallet,
    transfers: [{ transfer_id: `welcome_${workspaceId}`, code: 'welcome', amount_usd: '5' }],
  });
  expect((await run('wallet', 'show', workspaceId)).stdout).toMatch(
    /Credit 5 USD, spent [\d.]+ USD, balance [\d.]+ USD/,
  );
  const unknown = await run('wallet', 'show', 'ws_none');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no such workspace')]);
});

it('lists top-ups, and settles none without a payment processor', async () => {
  expect((await run('top-ups', 'list')).stdout).toContain('There are no top-ups.');
  await account.db.$executeRaw`
    INSERT INTO top_up (top_up_id, workspace_id, currency, net_cents, started_by, session_ends_at)
    VALUES ('topup_1', ${workspaceId}, 'usd', 2550, ${userId}, now())`;
  const aTopUp = {
    top_up_id: 'topup_1',
    workspace_id: workspaceId,
    state: 'created',
    net_cents: 2_550,
    credit_usd: null,
  };
  expect((await read('top-ups', 'list')).top_ups).toEqual([expect.objectContaining(aTopUp)]);
  expect((await read('top-ups', 'list', '--workspace', workspaceId)).top_ups).toHaveLength(1);
  expect((await read('top-ups', 'list', '--workspace', 'ws_none')).top_ups).toEqual([]);
  expect((await run('top-ups', 'list')).stdout).toMatch(/topup_1 .*created +25\.50 usd/);
  const settled = await run('top-ups', 'settle', 'topup_1');
  expect([settled.code, settled.stderr]).toEqual([1, expect.stringContaining('no account at a payment processor')]);
});

it('lists refunds, and starts none without a payment processor', async () => {
  expect((await run('refunds', 'list')).stdout).toContain('There are no refunds.');
  await account.db.$executeRaw`
    INSERT INTO refund (refund_id, top_up_id, wanted_cents, unit_nano_usd, note, started_by)
    VALUES ('refund_1', 'topup_1', 1050, 10000000, 'a test', 'operator:alice')`;
  const aRefund = {
    refund_id: 'refund_1',
    top_up_id: 'topup_1',
    state: 'taking',
    wanted_cents: 1_050,
    taken_usd: null,
  };
  expect((await read('refunds', 'list', '--workspace', workspaceId)).refunds).toEqual([
    expect.objectContaining(aRefund),
  ]);
  expect(await read('refunds', 'show', 'refund_1')).toMatchObject(aRefund);
  expect((await run('refunds', 'show', 'refund_1')).stdout).toMatch(
    /refund_1 .*taking +10\.50 usd[\s\S]*Started by operator:alice/,
  );
  const unknown = await run('refunds', 'show', 'refund_none');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('turnpike refunds list')]);
  for (const wrong of ['0', '-1', '1.234', 'all'])
    expect((await run('refunds', 'start', 'topup_1', '--amount', wrong, '--yes')).code).toBe(2);
  const started = await run('refunds', 'start', 'topup_1', '--amount', '12.50', '--yes');
  expect([started.code, started.stderr]).toEqual([1, expect.stringContaining('no account at a payment processor')]);
});

it('lists invoices and credit notes, and shows one by its number or its id with the hashes of its copies', async () => {
  expect((await run('invoices', 'list')).stdout).toContain('There are no invoices.');
  const hash = 'ab'.repeat(32);
  await account.db.$executeRaw`
    INSERT INTO document (document_id, organization_id, kind, number, status, invoice_id, currency, total_cents, tax_cents, issued_at,
      pdf_key, pdf_sha256, json_key, json_sha256)
    VALUES ('in_1', ${organizationId}, 'invoice', 'TURN-0001', 'paid', NULL, 'eur', 6150, 1150, now(), 'a.pdf', ${hash}, 'a.json', ${hash}),
      ('cn_1', ${organizationId}, 'credit_note', 'TURN-0001-CN-01', 'issued', 'in_1', 'eur', 615, 115, now(), 'b.pdf', ${hash}, 'b.json', ${hash})`;
  expect((await run('invoices', 'list')).stdout).toMatch(/TURN-0001 +invoice .*61\.50 eur +11\.50 eur/);
  expect((await read('invoices', 'list', '--organization', organizationId)).documents).toHaveLength(2);
  expect((await read('invoices', 'list', '--organization', 'org_none')).documents).toEqual([]);
  expect(await read('invoices', 'show', 'TURN-0001')).toMatchObject({ document_id: 'in_1', pdf_sha256: hash });
  expect((await run('invoices', 'show', 'cn_1')).stdout).toMatch(/about +TURN-0001\n/);
  const unknown = await run('invoices', 'show', 'TURN-0002');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('turnpike invoices list')]);
});

it('compares no payments without a payment processor', async () => {
  const { code, stderr } = await run('payments', 'compare');
  expect([code, stderr]).toEqual([1, expect.stringContaining('no account at a payment processor')]);
});

/** A region whose ledger has the credits of a database. Its auth knows the workspace. */
async function startLedgerOfRegion() {
  const ledger = await openTestLedger();
  const { spent_nano_usd: spent } = await read('wallet', 'show', workspaceId);
  const ofAuth = {
    ...{ workspace_id: workspaceId, organization_id: organizationId, name: 'Acme US', region: 'us', version: 1 },
    ...{ billing_status: 'active', monthly_cap_nano_usd: null },
  };
  const server = createServer(async (req, res) => {
    res.setHeader('content-type', 'application/json');
    if (req.method === 'POST') {
      const { credit_id: creditId, amount_nano_usd: amount, note } = JSON.parse(await text(req));
      const applied = await addCredit(ledger.db, { creditId, workspaceId, amountNanoUsd: BigInt(amount), note });
      res.end(JSON.stringify({ applied }));
      return;
    }
    const credits = await ledger.db.credit.findMany({ where: { workspaceId }, orderBy: { seq: 'asc' } });
    const credited = credits.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
    const sums = { credited_nano_usd: String(credited), spent_nano_usd: spent, month_spent_nano_usd: '0' };
    const listed = credits.map((credit) => ({
      ...{ credit_id: credit.creditId, amount_nano_usd: String(credit.amountNanoUsd), note: credit.note },
      created_at: credit.createdAt.toISOString(),
    }));
    const body = req.url?.includes('/balances')
      ? { ...sums, keys: {}, requests: 0 }
      : { credits: listed, next_after: null };
    res.end(JSON.stringify(req.url?.endsWith(workspaceId) ? ofAuth : body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const file = join(folder, 'wallets.json');
  const stack = JSON.parse(await readFile(stackFile, 'utf8'));
  for (const name of ['auth', 'usage-ledger'])
    stack.regions.us.services[name].internal_url = `http://127.0.0.1:${port}`;
  await writeFile(file, JSON.stringify(stack));
  const inRegion = (...args: string[]) => runTurnpikeHere([...args, '--region', 'us'], { stackFile: file });
  const awayFile = join(folder, 'away.json');
  stack.services['control-plane'].internal_url = 'http://127.0.0.1:1';
  await writeFile(awayFile, JSON.stringify(stack));
  return {
    inRegion,
    whileAccountIsAway: (...args: string[]) => runTurnpikeHere([...args, '--region', 'us'], { stackFile: awayFile }),
    compare: (...args: string[]) => inRegion('wallets', 'compare', '--workspace', workspaceId, '--wait', '0', ...args),
    credit: (creditId: string, amountNanoUsd: bigint) =>
      addCredit(ledger.db, { creditId, workspaceId, amountNanoUsd, note: '' }),
    async stop() {
      await new Promise((resolve) => server.close(resolve));
      await ledger.close();
    },
  };
}

it("holds wallets against the region's balances, and counts credit that was given in the region alone", async () => {
  const { compare, credit, stop } = await startLedgerOfRegion();

  const without = await compare();
  expect([without.code, without.stdout]).toEqual([1, expect.stringContaining('NOT all wallets agree')]);
  await credit(`welcome_${workspaceId}`, 5_000_000_000n);
  expect((await compare()).stdout).toContain('Workspaces: 1. All wallets agree.');
  await credit('gift_1', 1_000_000_000n);
  const { code, stdout } = await compare('--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { agree: true, workspaces: [{ workspace_id: workspaceId, given_here_usd: '1' }] },
  ]);
  await stop();
});

it('books credit that the operator gives or takes in a region in the wallet too, once for each id', async () => {
  const { inRegion, whileAccountIsAway, compare, credit, stop } = await startLedgerOfRegion();
  await credit(`welcome_${workspaceId}`, 5_000_000_000n);
  const { balance_nano_usd: before } = await read('wallet', 'show', workspaceId);
  const feed = () =>
    account.db.$queryRaw`SELECT body FROM feed WHERE body->>'credit_id' IN ('gift_2', 'slip_2') ORDER BY seq`;
  const give = () => inRegion('credit', 'add', workspaceId, '25', '--id', 'gift_2', '--note', 'Invoice 7', '--json');
  const early = await whileAccountIsAway('credit', 'add', workspaceId, '25', '--id', 'gift_2');
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('Repeat it under the same id')]);
  for (let time = 0; time < 2; time += 1) expect(JSON.parse((await give()).stdout)).toMatchObject({ applied: false });
  expect((await inRegion('credit', 'take', workspaceId, '2', '--id', 'slip_2')).code).toBe(0);
  const { balance_nano_usd: after, transfers } = await read('wallet', 'show', workspaceId);
  expect(BigInt(after) - BigInt(before)).toBe(23_000_000_000n);
  expect(transfers.map(({ code }: { code: string }) => code)).toEqual(
    expect.arrayContaining(['adjusted', 'adjusted_back']),
  );
  const told = { kind: 'credit', workspace_id: workspaceId };
  expect(await feed()).toEqual([
    { body: { ...told, credit_id: 'gift_2', nano_usd: '25000000000', note: 'Invoice 7' } },
    { body: { ...told, credit_id: 'slip_2', nano_usd: '-2000000000', note: '' } },
  ]);
  expect(JSON.parse((await compare('--json')).stdout)).toMatchObject({
    ...{ agree: true, workspaces: [{ given_here_usd: '0' }] },
  });
  const { lines } = await read('audit', 'list', organizationId);
  expect(lines[0]).toMatchObject({
    action: 'credit.adjusted',
    after: { credit_id: 'slip_2', nano_usd: '-2000000000' },
  });

  // A credit that a restored account layer lacks is entered again under its own id.
  await credit('topup_lost', 1_000_000_000n);
  expect(JSON.parse((await compare('--json')).stdout)).toMatchObject({ workspaces: [{ given_here_usd: '1' }] });
  const credited = await inRegion('credit', 'add', workspaceId, '1', '--id', 'topup_lost');
  expect([credited.code, credited.stderr]).toEqual([0, '']);
  expect(JSON.parse((await compare('--json')).stdout)).toMatchObject({ workspaces: [{ given_here_usd: '0' }] });
  await stop();
});

it('lists disputes', async () => {
  expect((await run('disputes', 'list')).stdout).toContain('There are no disputes.');
  await account.db.$executeRaw`
    INSERT INTO dispute (dispute_id, top_up_id, status, reason, gross_cents, opened_at)
    VALUES ('dp_1', 'topup_1', 'warning_needs_response', 'fraudulent', 2550, now())`;
  expect((await read('disputes', 'list')).disputes).toEqual([
    expect.objectContaining({ dispute_id: 'dp_1', gross_cents: 2_550, taken_usd: '0', hold_id: null }),
  ]);
  expect((await run('disputes', 'list')).stdout).toMatch(/dp_1 .*warning_needs_response +fraudulent +25\.50 usd/);
});

it('says what is wrong', async () => {
  const unknown = await run('organizations', 'show', 'org_none');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('turnpike organizations list')]);
  expect((await run('holds', 'open', organizationId, '--reason', 'whim')).code).toBe(2);
  expect((await run('holds', 'open', organizationId)).code).toBe(2);
  const noEpoch = await run('totals', 'confirm', 'us', randomUUID());
  expect([noEpoch.code, noEpoch.stderr]).toEqual([1, expect.stringContaining('turnpike totals epochs')]);
  expect((await run('totals', 'confirm', 'us', 'now')).code).toBe(2);
  expect((await run('totals', 'confirm', 'mars', randomUUID())).code).toBe(2);
  const noAccount = await runTurnpikeHere(['organizations', 'list'], { stackFile: await describeStack({}) });
  expect([noAccount.code, noAccount.stderr]).toEqual([
    1,
    expect.stringContaining('TURNPIKE_CONTROL_PLANE_INTERNAL_URL'),
  ]);
});
