import { type ParseArgsConfig, parseArgs } from 'node:util';
import { StackError } from './stackError.ts';

/** Prints a line. Returns the exit code of a command that has done its work. */
export function print(text: string): 0 {
  process.stdout.write(`${text}\n`);
  return 0;
}

/**
 * Runs a command as this process, which exits with the code that `main` resolves to. The message of a `StackError` is printed alone,
 * any other error with its trace. A reader that leaves, such as `npm start | head`, does not end the command.
 */
export function runCommand(main: () => Promise<number>): void {
  process.stdout.on('error', () => undefined);
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
      process.exit(1);
    },
  );
}

/** Reads a command line. Throws a `StackError` for an unknown word, with `hint`, which names the known ones. */
export function readArguments<Config extends ParseArgsConfig>(config: Config, hint: string) {
  try {
    return parseArgs(config);
  } catch (error) {
    const problem = error instanceof Error ? error.message.split(/\. |\n/)[0] : String(error);
    throw new StackError(`${problem}. ${hint}`, { cause: error });
  }
}

/** Reads a whole number from an option's text. Throws a `StackError` outside of the bounds. */
export function readCount(name: string, text: string, { from, to }: { from: number; to: number }): number {
  const count = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= from && count <= to))
    throw new StackError(`${name} is "${text}", but it has to be a whole number from ${from} to ${to}.`);
  return count;
}
