/** Commands of a page, as they are pasted. */
export interface RunbookBlock {
  /** The heading that they stand under. */
  heading: string;
  commands: string;
}

/** The blocks of a page that are fenced as `sh`. */
export function toBlocks(markdown: string): RunbookBlock[] {
  const blocks: RunbookBlock[] = [];
  let heading = '';
  for (const [, title, commands] of markdown.matchAll(/^#+ (.+)$|^```sh\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else if (commands !== undefined) blocks.push({ heading, commands });
  }
  return blocks;
}
