import { rename, writeFile } from 'node:fs/promises';
import type { Cell } from '../cell.ts';
import { toCatalogText } from '../stack/faultCatalog.ts';

const MISTAKES: ((text: string) => string)[] = [
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: "-1"'),
  (text) => text.replace(/completion: "[^"]*", /, ''),
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: NaN'),
  (text) => text.replace(/prompt: "[^"]*"/, 'prompt: "1e-9"'),
  (text) => text.slice(0, text.length / 2),
  () => '',
];

export const cell: Cell = {
  name: 'bad-catalog',
  group: 'catalog',
  breaks: 'the catalog file has one mistake after the other, and catalog and router start anew on the last of them',
  holds: 'every call is served by the last good prices',
  eventLog: 'embedded',
  async run(context) {
    const { catalogFile, parts } = context.stack;
    const put = async (text: string): Promise<void> => {
      await writeFile(`${catalogFile}.new`, text);
      await rename(`${catalogFile}.new`, catalogFile);
    };
    const load = context.startLoad({ calls: context.calls });
    for (const [index, mistake] of MISTAKES.entries()) {
      await load.untilSent(Math.floor((context.calls * (index + 1)) / (MISTAKES.length + 2)));
      await put(mistake(toCatalogText()));
    }
    context.checkOutcomes(await load.done, { ok: true });
    await parts.kill('catalog');
    await parts.restart('catalog');
    await context.repaired();
    await put(toCatalogText());
  },
};
