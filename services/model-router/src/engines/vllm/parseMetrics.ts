/** One line of a metrics page. */
export interface Sample {
  name: string;
  labels: ReadonlyMap<string, string>;
  value: number;
}

const NAME = /^[A-Za-z_:][\w:]*/;
/** Labels and value behind a name. */
const REST = /^(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$/;
/** A label's value may hold commas, braces and escaped quotes. */
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a Prometheus text page whose name `isWanted`. What cannot be read is passed over. */
export function parseMetrics(text: string, isWanted: (name: string) => boolean): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    // A page has thousands of lines of other metrics.
    const [name] = NAME.exec(line) ?? [];
    if (name === undefined || !isWanted(name)) continue;
    const [, labels = '', value] = REST.exec(line.slice(name.length)) ?? [];
    if (Number.isNaN(Number(value))) continue;
    samples.push({ name, labels: parseLabels(labels), value: Number(value) });
  }
  return samples;
}

const parseLabels = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [
      name,
      value.replace(/\\(.)/g, (_escape, character) => (character === 'n' ? '\n' : character)),
    ]),
  );
