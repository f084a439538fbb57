/** A variable of the environment that has no default. Ends the process with a line that names it where it is missing. */
export function readVariable(name: string): string {
  const value = process.env[name];
  if (value) return value;
  process.stderr.write(`${name} is not set.\n`);
  process.exit(1);
}
