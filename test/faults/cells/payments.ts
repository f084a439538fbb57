import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { untilMail } from '@turnpike/test-support/untilMail';
import { runTurnpikeHere } from '../../support/runTurnpike.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import type { CallRecord } from '../load/callRecord.ts';
import type { LoadKey } from '../load/startLoad.ts';
import { closePayments } from '../payments/closePayments.ts';
import { DrawnActs } from '../payments/drawnActs.ts';
import { type OpenPage, type Payer, PaymentDesk } from '../payments/paymentDesk.ts';
import { sweepPayments } from '../payments/sweepPayments.ts';

/** The account layer has its own Postgres database, and Redis is not part of a payment. */
const NOT_ON_CLUSTER = 'no payment passes through Redis';

const DRAWN = {
  breaks:
    'webhooks are lost, doubled, late and shuffled, every seventh answer of the processor is lost, and the control plane is killed three times, while 40 customers pay, are declined, leave pages, and have payments refunded and disputed, in drawn orders',
  holds: 'each payment is credited once, and each refund and dispute takes its share back once',
  eventLog: 'embedded',
  notOnCluster: NOT_ON_CLUSTER,
} as const;

export const payments: CellTable = {
  'payments-webhooks-lost': {
    breaks:
      'every webhook of the payment processor, for 40 payments and 10 declined cards; then all of them come at last',
    holds: 'the nightly sweep credits every payment, and none twice',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: loseWebhooks,
  },
  'payments-processor-hung': {
    breaks: 'the processor takes connections and answers nothing for 8 s, while 12 customers pay on its pages',
    holds: 'a new payment is refused with 502, calls go on, and each payment is credited once when it answers again',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: hangProcessor,
  },
  'payments-processor-fails': {
    breaks: 'the processor answers 500 for 8 s, and then 500 after the effect to every second request',
    holds: 'each payment is credited once',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: failProcessor,
  },
  'payments-processor-resets': {
    breaks:
      'the processor resets every second connection after the effect, while 12 pages are made, paid, and half of them refunded',
    holds: 'each page, charge and credit note is there once',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: resetProcessor,
  },
  'payments-control-plane-kill': {
    breaks: 'kill -9 of the control plane at a drawn moment after two payments, six times',
    holds: 'each payment is credited once, by its webhook or by the sweep',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: killAtSettle,
  },
  'payments-account-postgres-away': {
    breaks: 'the connections of the control plane to Postgres for 8 s, while 12 customers pay',
    holds: 'calls go on, and each payment is credited once',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: takePostgresAway,
  },
  'payments-region-away': {
    breaks:
      'the region is cut from the account layer while 6 customers pay, and then its ledger is killed while 6 more do',
    holds:
      'the account layer credits at once; the same keys work once the region is back, and the credit is there once',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: takeRegionAway,
  },
  'payments-object-store-away': {
    breaks: 'the place of the copies of documents, while 6 customers pay',
    holds: 'each payment is credited at once, and its document is copied later, once',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: takeObjectStoreAway,
  },
  'payments-mail-server-away': {
    breaks: 'the mail server, while 6 customers pay, one payment is disputed and lost, and a member is invited',
    holds: 'credit and disputes wait for no mail; the mail is sent later',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: takeMailServerAway,
  },
  'payments-same-key-works': {
    breaks: 'nothing: 108 customers pay for a workspace whose key was refused for lack of credit',
    holds: 'the same key works within 5 s of the payment, at the 99th percentile',
    eventLog: 'embedded',
    notOnCluster: NOT_ON_CLUSTER,
    run: payForRefusedKeys,
  },
  'payments-drawn-acts': { ...DRAWN, run: drawActs },
  // In euros: by the imported rate of the month.
  'payments-euros': { ...DRAWN, serviceSettings: {}, region: 'eu', run: drawActs },
};

const AWAY_MS = 8_000;
const DRAWN_PAYERS = 40;
const DRAWN_KILLS = 3;
const CREDITED_WITHIN_MS = 120_000;
/** Every second request fails, also those of jobs. So all three attempts of a call fail now and then. */
const ASKED_AGAIN = 5;

const payAll = (desk: PaymentDesk, pages: readonly OpenPage[]): Promise<unknown> =>
  Promise.all(pages.map((page) => desk.pay(page)));

/** Waits until each payment of a desk is credited in the account layer. */
function untilCredited({ stack, until }: CellContext, desk: PaymentDesk): Promise<void> {
  const areCredited = async (): Promise<boolean> => (await countCredited(stack.account, desk)) === desk.paid.size;
  return until('every payment to be credited', areCredited, CREDITED_WITHIN_MS);
}

async function countCredited(account: CellContext['stack']['account'], desk: PaymentDesk): Promise<number> {
  const { rows } = await account.query(
    "SELECT count(*)::INTEGER AS count FROM top_up WHERE state IN ('paid', 'invoiced') AND top_up_id = ANY($1)",
    [[...desk.paid]],
  );
  return rows[0].count;
}

/** Notes a problem unless the region serves, as it does without the account layer. */
async function checkRegionServes(context: CellContext): Promise<void> {
  const { status } = await context.ask('/svc/key');
  context.check(status === 200, `GET /svc/key answers ${status} meanwhile`);
}

async function loseWebhooks(context: CellContext): Promise<void> {
  const { stack } = context;
  const desk = await PaymentDesk.open(context, { payers: 10 });
  await stack.payments.loseWebhooks();
  for (let round = 0; round < 5; round += 1) {
    const pages = await desk.openPages();
    if (round < 4) await payAll(desk, pages);
    else await Promise.all(pages.map((page) => desk.pay(page, 'isDeclined')));
  }
  context.check(
    desk.paid.size === 40 && desk.declined.size === 10,
    'the cards are not paid and declined as they should be',
  );
  context.check(
    (await countCredited(stack.account, desk)) === 0,
    'a payment was credited without a webhook or a sweep',
  );
  await sweepPayments(context);
  const credited = await countCredited(stack.account, desk);
  context.check(credited === 40, `the sweep credited ${credited} of 40 payments`);
  await sweepPayments(context);
  const { events } = await stack.payments.readLog();
  await stack.payments.mend();
  for (const { id } of events) await stack.payments.deliver(id);
  await closePayments(context, desk);
}

async function hangProcessor(context: CellContext): Promise<void> {
  const { links } = context.stack;
  const link = { from: 'control-plane', to: 'payments-simulator' } as const;
  const desk = await PaymentDesk.open(context, { payers: 12 });
  const pages = await desk.openPages();
  await links.become(link, { blackHole: true });
  await payAll(desk, pages);
  const asked = desk.ask(desk.payers[0] as Payer).catch((error: unknown) => ({ status: String(error) }));
  await checkRegionServes(context);
  await pause(AWAY_MS);
  links.reset(link);
  await links.become(link, {});
  // The client asks again before it gives up, so it may have been answered in the end.
  const { status } = await asked;
  context.check(status === 502 || status === 201, `a payment page is answered ${status} while the processor hangs`);
  await closePayments(context, desk);
}

async function failProcessor(context: CellContext): Promise<void> {
  const { payments: processor } = context.stack;
  const desk = await PaymentDesk.open(context, { payers: 12 });
  const pages = await desk.openPages();
  await processor.failApi({ fault: 'refuse_500' });
  await payAll(desk, pages);
  const { status } = await desk.ask(desk.payers[0] as Payer);
  context.check(status === 502, `a payment page is answered ${status} while the processor answers 500`);
  await pause(AWAY_MS);
  await processor.mend();
  await processor.failApi({ fault: 'answer_500_after', everyNth: 2 });
  await payAll(desk, await desk.openPages({ again: ASKED_AGAIN }));
  await untilCredited(context, desk);
  await processor.mend();
  await closePayments(context, desk);
}

async function resetProcessor(context: CellContext): Promise<void> {
  const { payments: processor, account, stackFile } = context.stack;
  await processor.failApi({ fault: 'reset_after', everyNth: 2 });
  const desk = await PaymentDesk.open(context, { payers: 12 });
  await payAll(desk, await desk.openPages({ again: ASKED_AGAIN }));
  const areInvoiced = async (): Promise<boolean> => {
    const { rows } = await account.query("SELECT 1 FROM top_up WHERE state = 'invoiced' AND top_up_id = ANY($1)", [
      [...desk.paid],
    ]);
    return rows.length === desk.paid.size;
  };
  await context.until('every payment to have its invoice', areInvoiced, CREDITED_WITHIN_MS);
  const refunded = [...desk.paid].slice(0, 6);
  for (const [index, topUpId] of refunded.entries()) {
    const amount = index % 2 === 0 ? [] : ['--amount', '2.5'];
    const { code, stderr } = await runTurnpikeHere(['refunds', 'start', topUpId, ...amount, '--yes'], { stackFile });
    context.check(code === 0, `a refund was not started: ${stderr}`);
  }
  const areRefunded = async (): Promise<boolean> => {
    const { rows } = await account.query("SELECT 1 FROM refund WHERE state = 'refunded' AND top_up_id = ANY($1)", [
      refunded,
    ]);
    return rows.length === refunded.length;
  };
  await context.until('every refund to be paid', areRefunded, CREDITED_WITHIN_MS);
  await processor.mend();
  await closePayments(context, desk);
}

const KILLS = 6;

async function killAtSettle(context: CellContext): Promise<void> {
  const { parts, account } = context.stack;
  const desk = await PaymentDesk.open(context, { payers: 2 });
  let bySweep = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await payAll(desk, await desk.openPages());
    await pause(context.random.between(0, 900));
    await parts.kill('control-plane');
    await parts.restart('control-plane');
    const before = await countCredited(account, desk);
    await sweepPayments(context);
    bySweep += (await countCredited(account, desk)) - before;
  }
  context.notes.push(
    `killed ${KILLS} times; the sweep found ${bySweep} of ${desk.paid.size} payments not credited yet`,
  );
  await closePayments(context, desk);
}

async function drawActs(context: CellContext): Promise<void> {
  const { parts, payments: processor } = context.stack;
  const desk = await PaymentDesk.open(context, { payers: DRAWN_PAYERS });
  const acts = new DrawnActs(context, desk);
  const pauses = Array.from({ length: DRAWN_KILLS }, () => context.random.between(1_000, 8_000));
  await processor.failWebhooks([
    { fault: 'lose', everyNth: 4 },
    { fault: 'double', everyNth: 3 },
    { fault: 'late', everyNth: 5 },
    { fault: 'shuffle', everyNth: 2 },
  ]);
  await processor.failApi({ fault: 'reset_after', everyNth: 7 });
  const kill = async (): Promise<void> => {
    for (const pauseMs of pauses) {
      await pause(pauseMs);
      await parts.kill('control-plane');
      await parts.restart('control-plane');
    }
  };
  await Promise.all([acts.perform(), kill()]);
  context.notes.push(acts.describe());
  context.check(desk.paid.size >= DRAWN_PAYERS, `only ${desk.paid.size} payments were made`);
  await processor.mend();
  // The second sweep copies the documents of what the first one found.
  for (let sweep = 0; sweep < 2; sweep += 1) await sweepPayments(context);
  await closePayments(context, desk);
}

async function takePostgresAway(context: CellContext): Promise<void> {
  const { links } = context.stack;
  const link = { from: 'control-plane', to: 'postgres' } as const;
  const desk = await PaymentDesk.open(context, { payers: 12 });
  const pages = await desk.openPages();
  await links.become(link, { refuse: true });
  links.reset(link);
  await payAll(desk, pages);
  await checkRegionServes(context);
  await pause(AWAY_MS);
  await links.become(link, {});
  await closePayments(context, desk);
}

async function takeRegionAway(context: CellContext): Promise<void> {
  const { links, parts } = context.stack;
  const desk = await PaymentDesk.open(context, { payers: 12 });
  const keys = await Promise.all(desk.payers.map((payer) => makeKey(context, payer)));
  const pages = await desk.openPages();
  await links.become({ to: 'control-plane' }, { blackHole: true });
  await payAll(desk, pages.slice(0, 6));
  await untilCredited(context, desk);
  for (const key of keys.slice(0, 6)) await checkIsRefused(context, key);
  links.reset({ to: 'control-plane' });
  await links.become({ to: 'control-plane' }, {});

  await parts.kill('usage-ledger');
  await payAll(desk, pages.slice(6));
  await untilCredited(context, desk);
  await parts.restart('usage-ledger');
  await Promise.all(keys.map((key) => untilAnswered(context, key)));
  await closePayments(context, desk);
}

async function takeObjectStoreAway(context: CellContext): Promise<void> {
  const { account, dataDir } = context.stack;
  const folder = join(dataDir, 'documents');
  const desk = await PaymentDesk.open(context, { payers: 6 });
  const pages = await desk.openPages();
  await rename(folder, `${folder}.away`);
  await writeFile(folder, '');
  try {
    await payAll(desk, pages);
    await untilCredited(context, desk);
    const { rows } = await account.query(
      'SELECT 1 FROM document JOIN top_up ON document_id = top_up.invoice_id WHERE top_up_id = ANY($1)',
      [[...desk.paid]],
    );
    context.check(rows.length === 0, 'a document has a copy while there is no place for one');
  } finally {
    await rm(folder);
    await rename(`${folder}.away`, folder);
  }
  await closePayments(context, desk);
}

async function takeMailServerAway(context: CellContext): Promise<void> {
  const { links, payments: processor, account, description } = context.stack;
  const link = { from: 'control-plane', to: 'mail-catcher' } as const;
  const desk = await PaymentDesk.open(context, { payers: 6 });
  const pages = await desk.openPages();
  await links.become(link, { refuse: true });
  links.reset(link);
  await payAll(desk, pages);
  await untilCredited(context, desk);
  const { user, workspace } = desk.payers[0] as Payer;
  const to = `invited-${workspace.id.toLowerCase()}@example.com`;
  const path = workspace.path.replace(/\/workspaces\/.*/, '/invitations');
  const { status } = await user.send('POST', path, { address: to, role: 'developer' });
  context.check(status === 201, `an invitation is answered ${status} without the mail server`);

  const [topUpId] = desk.paid;
  const { rows } = await account.query('SELECT charge_id FROM top_up WHERE top_up_id = $1', [topUpId]);
  const disputeId = await processor.dispute(rows[0].charge_id);
  await processor.lose(disputeId);
  const isLost = async (): Promise<boolean> => {
    const { rows: lost } = await account.query("SELECT 1 FROM dispute WHERE dispute_id = $1 AND status = 'lost'", [
      disputeId,
    ]);
    return lost.length === 1;
  };
  await context.until('the dispute to be lost in the books', isLost, CREDITED_WITHIN_MS);
  await links.become(link, {});
  await untilMail(description.account.mail_catcher_url, { to });
  await closePayments(context, desk);
}

const CUSTOMERS = 108;
const AT_ONCE = 3;
/** The promise: from the payment to the first answer of the same key. */
const WORKS_WITHIN_MS = 5_000;
/** Beyond it something is wrong, and no figure. */
const ANSWERED_WITHIN_MS = 60_000;

async function payForRefusedKeys(context: CellContext): Promise<void> {
  const desk = await PaymentDesk.open(context, { payers: CUSTOMERS });
  const waiting = [...desk.payers];
  const tookMs: number[] = [];
  const work = async (): Promise<void> => {
    for (let payer = waiting.pop(); payer; payer = waiting.pop()) tookMs.push(await payAndCall(context, desk, payer));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  tookMs.sort((a, b) => a - b);
  const at = (share: number): number => tookMs[Math.ceil(tookMs.length * share) - 1] ?? 0;
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => (at(share) / 1_000).toFixed(2));
  context.notes.push(
    `${tookMs.length} payments, until the same key works: p50 ${p50} s, p99 ${p99} s, at most ${most} s`,
  );
  context.check(at(0.99) <= WORKS_WITHIN_MS, `the same key works only after ${p99} s at the 99th percentile`);
  await closePayments(context, desk);
}

/** Makes a key of a workspace without credit, whose calls are in the books from now on. */
async function makeKey(context: CellContext, { workspace }: Payer): Promise<LoadKey> {
  const key = await workspace.makeKey();
  context.addAccount({ workspaceId: workspace.id, keys: [key] });
  return key;
}

const askOnce = async (context: CellContext, key: LoadKey): Promise<CallRecord | undefined> =>
  (await context.startLoad({ calls: 1, keys: [key], tokens: [1, 1] }).done)[0];

async function checkIsRefused(context: CellContext, key: LoadKey): Promise<void> {
  const record = await askOnce(context, key);
  context.check(record?.outcome === '402', `a key without credit in its region is answered ${record?.outcome}`);
}

/** Repeats a call by a key until it is answered. Notes a problem if the call is refused for another reason than credit. */
async function untilAnswered(context: CellContext, key: LoadKey): Promise<void> {
  const isAnswered = async (): Promise<boolean> => {
    const outcome = (await askOnce(context, key))?.outcome;
    context.check(outcome === 'ok' || outcome === '402', `a key is answered ${outcome} after its payment`);
    return outcome === 'ok';
  };
  await context.until('an answer to a key that was paid for', isAnswered, ANSWERED_WITHIN_MS);
}

/** Pays for a key that was refused. Returns how long after the payment the same key is answered. */
async function payAndCall(context: CellContext, desk: PaymentDesk, payer: Payer): Promise<number> {
  const key = await makeKey(context, payer);
  await checkIsRefused(context, key);
  const [page] = await desk.openPages({ payers: [payer] });
  await desk.pay(page as OpenPage);
  const paidAt = performance.now();
  await untilAnswered(context, key);
  return performance.now() - paidAt;
}
