import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { readRows } from '../books/readLedger.ts';
import type { Cell } from '../cell.ts';
import { toCatalogText } from '../stack/faultCatalog.ts';

const FLIP_MS = 150;
/** File to catalog to router: both ask every now and then. */
const TAKES_MS = 8_000;

export const cell: Cell = {
  name: 'price-flips',
  group: 'catalog',
  breaks: 'prices change all the time while streams run',
  holds: 'each row is charged by one version, which was in force when it was admitted',
  eventLog: 'embedded',
  async run(context) {
    const { catalogFile, catalog, ledger } = context.stack;
    const load = context.startLoad({ calls: context.calls, tokens: [1, 300] });
    for (let turn = 1; load.sent < context.calls; turn += 1) {
      await writeFile(`${catalogFile}.new`, toCatalogText(turn));
      await rename(`${catalogFile}.new`, catalogFile);
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
  },
};
