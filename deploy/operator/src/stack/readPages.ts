/** Reads a list to its end: `readPage` is given the id to go on after and answers with the one to ask with next. */
export async function readPages<Entry>(
  readPage: (after: string) => Promise<{ entries: Entry[]; nextAfter: string | null }>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  let after: string | null = '';
  while (after !== null) {
    const page: { entries: Entry[]; nextAfter: string | null } = await readPage(after);
    all.push(...page.entries);
    after = page.nextAfter;
  }
  return all;
}
