/** Problems, each kind once with its count and a first example, because a thousand lines would say no more. */
export class ProblemList {
  readonly #found = new Map<string, { count: number; example: string }>();

  add(what: string, example = ''): void {
    const known = this.#found.get(what);
    if (known) known.count += 1;
    else this.#found.set(what, { count: 1, example });
  }

  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  toLines(): string[] {
    return [...this.#found].map(([what, { count, example }]) => {
      const times = count === 1 ? '' : ` (${count}×)`;
      return `${what}${times}${example === '' ? '' : `: ${example}`}`;
    });
  }
}
