import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { readRows } from '../books/readLedger.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { kill } from '../fault.ts';
import { toCatalogText } from '../stack/faultCatalog.ts';

export const catalog: CellTable = {
  'catalog-kill': {
    breaks: 'kill -9 of the catalog, back after 4 s',
    holds: 'every call is served by the last good prices; /v1/models answers 502',
    eventLog: 'embedded',
    fault: {
      ...kill('catalog'),
      async strike(context) {
        await context.stack.parts.kill('catalog');
        const { status } = await context.ask('/models');
        context.check(status === 502, `GET /v1/models answers ${status} without a catalog`);
      },
    },
    forMs: 4_000,
    ends: { ok: true },
  },
  'bad-catalog': {
    breaks: 'the catalog file has one mistake after the other, and catalog and router start anew on the last of them',
    holds: 'every call is served by the last good prices',
    eventLog: 'embedded',
    run: makeMistakes,
  },
  'price-flips': {
    breaks: 'prices change all the time while streams run',
    holds: 'each row is charged by one version, which was in force when it was admitted',
    eventLog: 'embedded',
    run: flipPrices,
  },
};

/** Puts a catalog file in the place of the one there is, at once. */
async function putCatalog({ stack: { catalogFile } }: CellContext, text: string): Promise<void> {
  await writeFile(`${catalogFile}.new`, text);
  await rename(`${catalogFile}.new`, catalogFile);
}

const MISTAKES: ((text: string) => string)[] = [
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: "-1"'),
  (text) => text.replace(/completion: "[^"]*", /, ''),
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: NaN'),
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: "1e-9"'),
  (text) => text.slice(0, text.length / 2),
  () => '',
];

async function makeMistakes(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  const load = context.startLoad({ calls: context.calls });
  for (const [index, mistake] of MISTAKES.entries()) {
    await load.untilSent(Math.floor((context.calls * (index + 1)) / (MISTAKES.length + 2)));
    await putCatalog(context, mistake(toCatalogText()));
  }
  context.checkOutcomes(await load.done, { ok: true });
  await parts.kill('catalog');
  await parts.restart('catalog');
  await context.repaired();
  await putCatalog(context, toCatalogText());
}

const FLIP_MS = 150;
/** File to catalog to router: both ask every now and then. */
const TAKES_MS = 8_000;

async function flipPrices(context: CellContext): Promise<void> {
  const { catalog, ledger } = context.stack;
  const load = context.startLoad({ calls: context.calls, tokens: [1, 300] });
  for (let turn = 1; load.sent < context.calls; turn += 1) {
    await putCatalog(context, toCatalogText(turn));
    await pause(FLIP_MS);
  }
  context.checkOutcomes(await load.done, { ok: true });
  await context.repaired();
  await context.until('every row', async () => {
    const rows = await readRows(ledger, [context.account.workspaceId]);
    return rows.length >= context.calls;
  });
  const { rows: versions } = await catalog.query(
    'SELECT version, (extract(epoch FROM applied_at) * 1000)::BIGINT AS at FROM catalog_version',
  );
  const appliedAt = new Map(versions.map(({ version, at }) => [Number(version), Number(at)]));
  const rows = await readRows(ledger, [context.account.workspaceId]);
  context.check(new Set(rows.map(({ priceVersion }) => priceVersion)).size > 2, 'hardly any price change was seen');
  for (const { callId, priceVersion, startedAtMs } of rows) {
    const from = appliedAt.get(priceVersion) ?? Number.POSITIVE_INFINITY;
    const replacedAt = appliedAt.get(priceVersion + 1) ?? Number.POSITIVE_INFINITY;
    // The file was in force before it stood in the table that we read.
    const wasInForce = from <= startedAtMs + 1_000 && startedAtMs <= replacedAt + TAKES_MS;
    context.check(wasInForce, 'a row is charged by a version that was not in force');
    if (!wasInForce) context.check(false, `for instance ${callId}, version ${priceVersion}`);
  }
}
