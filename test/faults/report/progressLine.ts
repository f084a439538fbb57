const INTERVAL_MS = 500;

/** The current step, in a line that is overwritten on a terminal, and printed nowhere else. */
export class ProgressLine {
  readonly #output: NodeJS.WriteStream;
  readonly #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor(output: NodeJS.WriteStream, describe: () => string) {
    this.#output = output;
    if (output.isTTY) this.#timer = setInterval(() => this.#show(describe()), INTERVAL_MS);
  }

  /** Prints lines that stay, above it. */
  print(text: string): void {
    this.#clear();
    this.#output.write(`${text}\n`);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #show(text: string): void {
    this.#clear();
    this.#output.write(text.slice(0, this.#output.columns - 1));
    this.#isShown = true;
  }

  #clear(): void {
    if (this.#isShown) this.#output.write('\r\x1b[K');
    this.#isShown = false;
  }
}
