/** A series that a query asks for, with the labels that it is chosen by. */
export interface Selector {
  series: string;
  matchers: { label: string; value: string }[];
}

const SELECTOR = /\b((?:turnpike|process)_\w+|turnpike:[\w:]+|up|ALERTS)\b(?:\{([^}]*)\})?/g;

/** Reads the selectors of a query. It can read only our own queries, whose values have no braces and quotes. */
export const readSelectors = (query: string): Selector[] =>
  Array.from(query.matchAll(SELECTOR), ([, series = '', matchers = '']) => ({
    series,
    matchers: Array.from(matchers.matchAll(/(\w+)\s*[!=]~?\s*"([^"]*)"/g), ([, label = '', value = '']) => ({
      label,
      value,
    })),
  }));

/** The labels by which a query adds up. */
export const readGroupings = (query: string): string[] =>
  Array.from(query.matchAll(/\bby \(([^)]*)\)/g), ([, labels = '']) => labels.split(', ')).flat();
