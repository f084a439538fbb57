/** Goes on as another program, under the same process id: signals reach it, and its end is the container's. */
export function becomeServer(program: string, args: string[]): void {
  if (process.execve === undefined) throw new Error('This system cannot replace a process by another.');
  process.execve(program, [program, ...args], process.env as Record<string, string>);
}

/** A variable of the environment that has no default. Ends the process with a line that names it where it is missing. */
export function readVariable(name: string): string {
  const value = process.env[name];
  if (value) return value;
  process.stderr.write(`${name} is not set.\n`);
  process.exit(1);
}
