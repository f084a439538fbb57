const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Markup that `html` has built. A value of this class is inserted without escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Builds markup from a template. Escapes inserted text, also for quoted attributes. Inserts a list item by item. */
export function html(strings: TemplateStringsArray, ...values: (string | number | Html | Html[])[]): Html {
  const inserted = values.map((value) => {
    if (value instanceof Html) return value.text;
    if (Array.isArray(value)) return value.map(({ text }) => text).join('');
    return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
  });
  return new Html(String.raw({ raw: strings }, ...inserted));
}
