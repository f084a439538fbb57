import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A line of the file: an object of a table as it became. */
interface Line {
  table: string;
  object: { id: string };
}

/** The state of the simulator as a file of JSON lines, the last line of an object being in force. Without a file it keeps nothing. */
export class Journal {
  readonly #file: string | undefined;

  constructor(file: string | undefined) {
    this.#file = file;
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
  }

  /** Returns the lines of the file in their order, and none if there is no file. A last line that was cut short is left out. */
  read(): Line[] {
    const text = this.#file === undefined ? '' : readIfPresent(this.#file);
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** Writes the file anew with these lines. */
  rewrite(lines: readonly Line[]): void {
    if (this.#file === undefined) return;
    writeFileSync(`${this.#file}.partial`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    renameSync(`${this.#file}.partial`, this.#file);
  }

  append(line: Line): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
