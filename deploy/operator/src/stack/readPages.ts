/**
 * Reads a list to its end, and returns its entries, which each answer has as `name`. `readPage` gets the id to go on after, an empty one at
 * first.
 */
export async function readPages<
  Name extends string,
  Page extends Record<Name, unknown[]> & { next_after: string | null },
>(name: Name, readPage: (after: string) => Promise<Page>): Promise<Page[Name][number][]> {
  const all: Page[Name][number][] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: Page = await readPage(after);
    all.push(...page[name]);
    after = page.next_after;
  }
  return all;
}
