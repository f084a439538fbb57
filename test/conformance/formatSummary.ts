/** The outcome of one row. */
export interface RowOutcome {
  id: string;
  holds: boolean;
}

/** Sections by the first part of their rows' ids, in the order in which they are shown. */
const SECTIONS: Record<string, string> = {
  request: 'Chat requests',
  answer: 'Whole answers',
  stream: 'Streams',
  apis: 'Chat in other APIs',
  completions: 'Legacy completions',
  embeddings: 'Embeddings',
  models: 'Model list',
  key: 'Key information',
  usage: 'Usage records',
  aggregate: 'Aggregate usage',
  billing: 'What is billed',
  errors: 'Status table',
  gates: 'Order of the gates',
  headers: 'Headers',
  paths: 'Paths and methods',
  bodies: 'Bodies',
  regions: 'Regions',
  outages: 'Parts that are away',
  media: 'Media',
  account: 'Account layer',
};
const TITLE = 'Rows of the API contract';
const WIDTH = Math.max(TITLE.length, ...Object.values(SECTIONS).map(({ length }) => length));

const sectionOf = (id: string): string => id.slice(0, id.indexOf('.'));

/**
 * A table for a terminal: for each section how many rows held and how many there are, then the rows that did not hold.
 * Only what ran is counted.
 */
export function formatSummary(outcomes: RowOutcome[]): string {
  const line = (mark: string, name: string, count: string) => `  ${mark} ${name.padEnd(WIDTH)}  ${count}`;
  const heldOf = (rows: RowOutcome[]) => {
    const held = rows.filter(({ holds }) => holds).length;
    return {
      mark: held === rows.length ? '✓' : '✗',
      count: `${String(held).padStart(4)} of ${String(rows.length).padStart(4)} held`,
    };
  };
  const lines = Object.entries(SECTIONS).flatMap(([section, name]) => {
    const rows = outcomes.filter(({ id }) => sectionOf(id) === section);
    if (rows.length === 0) return [];
    const { mark, count } = heldOf(rows);
    return [line(mark, name, count)];
  });
  const { mark, count } = heldOf(outcomes);
  const broken = outcomes.filter(({ holds }) => !holds).map(({ id }) => `    ✗ ${id}`);
  return [TITLE, ...lines, line(mark, 'In all', count), ...broken].join('\n');
}
